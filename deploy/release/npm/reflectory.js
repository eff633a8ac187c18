#!/usr/bin/env node
// Runs Reflectory @VERSION@ on Linux: downloads its archive once, and checks its checksum.
// REFLECTORY_URL names where the archive is, if it isn't at the release's address.
"use strict";

const { spawn, spawnSync } = require("node:child_process");
const { createHash } = require("node:crypto");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

const [arch, want] = { "linux x64": ["amd64", "@AMD64@"], "linux arm64": ["arm64", "@ARM64@"] }[`${process.platform} ${process.arch}`] || [];
const archive = `reflectory-@VERSION@-linux-${arch}.tar.gz`;
const url = process.env.REFLECTORY_URL || "@URL@";

function fail(message) {
  console.error("reflectory: " + message);
  process.exit(1);
}

async function program() {
  if (!want) fail(`this release isn't for ${process.platform} on ${process.arch}`);
  const cache = process.env.XDG_CACHE_HOME || path.join(os.homedir(), ".cache");
  // The name has the checksum: another release never runs in place of this one.
  const home = path.join(cache, "reflectory", want);
  if (!fs.existsSync(home)) {
    fs.mkdirSync(path.dirname(home), { recursive: true, mode: 0o700 });
    const fresh = fs.mkdtempSync(path.join(path.dirname(home), "new-"));
    try {
      await download(fresh);
      fs.renameSync(path.join(fresh, archive.slice(0, -".tar.gz".length)), home);
    } catch (error) {
      if (!fs.existsSync(home)) fail(error.message); // else another process was faster
    } finally {
      fs.rmSync(fresh, { recursive: true, force: true });
    }
  }
  return path.join(home, "reflectory");
}

async function download(folder) {
  const answer = await fetch(url + "/" + archive);
  if (!answer.ok) throw new Error(`${url}/${archive}: ${answer.status}`);
  const data = Buffer.from(await answer.arrayBuffer());
  const got = createHash("sha256").update(data).digest("hex");
  if (got !== want) throw new Error(`${url}/${archive} isn't the released file: its SHA-256 is ${got}, not ${want}`);
  fs.writeFileSync(path.join(folder, archive), data);
  const tar = spawnSync("tar", ["-xzf", archive], { cwd: folder, stdio: "inherit" });
  if (tar.status !== 0) throw new Error("can't unpack " + archive);
}

program().then((file) => {
  const child = spawn(file, process.argv.slice(2), { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => fail(error.message));
  child.on("exit", (code, signal) => process.exit(signal ? 128 + os.constants.signals[signal] : code));
}).catch((error) => fail(error.message));
