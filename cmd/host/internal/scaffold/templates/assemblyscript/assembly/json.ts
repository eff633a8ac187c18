// JSON: what the plugin receives, and how it writes what it sends.

export enum Kind { Null, Bool, Number, Text, List, Object }

// Most values have neither, and share these.
const noItems: Value[] = [];
const noKeys: string[] = [];

// Value is one JSON value. A missing key of an object is null.
export class Value {
  kind: Kind = Kind.Null;
  bool: bool = false;
  number: f64 = 0;
  text: string = "";
  items: Value[] = noItems;
  keys: string[] = noKeys;
  source: string = "";
  begin: i32 = 0;
  end: i32 = 0;

  // raw is the value as it was sent.
  get raw(): string {
    return this.source.substring(this.begin, this.end);
  }

  get(key: string): Value {
    for (let i = this.keys.length - 1; i >= 0; i--) {
      if (this.keys[i] == key) return this.items[i];
    }
    return new Value();
  }
}

// parse reads one value. The host sends valid JSON only, at most 256 deep.
export function parse(source: string): Value {
  return new Reader(source).value();
}

class Reader {
  at: i32 = 0;
  constructor(private source: string) {}

  value(): Value {
    this.space();
    const v = new Value();
    v.source = this.source;
    v.begin = this.at;
    const c = this.peek();
    if (c == 0x7b) this.members(v);
    else if (c == 0x5b) this.list(v);
    else if (c == 0x22) {
      v.kind = Kind.Text;
      v.text = this.string();
    } else this.word(v);
    v.end = this.at;
    return v;
  }

  private peek(): i32 {
    return this.at < this.source.length ? this.source.charCodeAt(this.at) : 0;
  }

  private space(): void {
    while (this.peek() == 0x20 || (this.peek() >= 0x09 && this.peek() <= 0x0d)) this.at++;
  }

  // more steps over a comma, and reports whether the list or object goes on.
  private more(end: i32): bool {
    this.space();
    if (this.peek() == 0x2c) this.at++;
    this.space();
    if (this.peek() != end && this.peek() != 0) return true;
    this.at++;
    return false;
  }

  private members(v: Value): void {
    v.kind = Kind.Object;
    v.keys = [];
    v.items = [];
    this.at++;
    while (this.more(0x7d)) {
      v.keys.push(this.string());
      this.space();
      this.at++; // the colon
      v.items.push(this.value());
    }
  }

  private list(v: Value): void {
    v.kind = Kind.List;
    v.items = [];
    this.at++;
    while (this.more(0x5d)) v.items.push(this.value());
  }

  private word(v: Value): void {
    const begin = this.at;
    for (let c = this.peek(); c > 0x20 && c != 0x2c && c != 0x5d && c != 0x7d; c = this.peek()) this.at++;
    const word = this.source.substring(begin, this.at);
    if (word == "true" || word == "false") {
      v.kind = Kind.Bool;
      v.bool = word == "true";
    } else if (word != "null") {
      v.kind = Kind.Number;
      v.number = parseFloat(word);
    }
  }

  private string(): string {
    this.at++;
    let out = "";
    let begin = this.at;
    for (let c = this.peek(); c != 0x22 && this.at < this.source.length; c = this.peek()) {
      if (c == 0x5c) {
        out += this.source.substring(begin, this.at) + this.escape();
        begin = this.at;
      } else this.at++;
    }
    out += this.source.substring(begin, this.at);
    this.at++;
    return out;
  }

  private escape(): string {
    const c = this.source.charAt(this.at + 1);
    this.at += 2;
    if (c == "u") {
      this.at += 4;
      return String.fromCharCode(u16(parseInt(this.source.substring(this.at - 4, this.at), 16)));
    }
    const i = "bfnrt".indexOf(c);
    return i < 0 ? c : "\b\f\n\r\t".charAt(i);
  }
}

// quote writes a text as JSON. Half of a surrogate pair becomes an escape.
export function quote(text: string): string {
  let out = '"';
  let begin = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    const pair = c >= 0xd800 && c < 0xdc00 && i + 1 < text.length && (text.charCodeAt(i + 1) & 0xfc00) == 0xdc00;
    if (pair) {
      i++;
      continue;
    }
    if (c >= 0x20 && c != 0x22 && c != 0x5c && (c < 0xd800 || c >= 0xe000)) continue;
    out += text.substring(begin, i) + "\\u" + c.toString(16).padStart(4, "0");
    begin = i + 1;
  }
  return out + text.substring(begin) + '"';
}
