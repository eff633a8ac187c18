#!/usr/bin/env python3
"""python-code is a plugin: an evaluator of generated Python. It reads the code with
Python's own parser and never runs it."""

import ast
import warnings

from reflectory import Plugin, Refused, serve

CONFIG_SCHEMA = {
    "type": "object", "additionalProperties": False,
    "properties": {
        "docstrings": {"type": "boolean", "default": True},
        "forbidden_imports": {"type": "array", "items": {"type": "string"}, "default": []},
    },
}


def prepare(config):
    """Checks the config once, and returns the function that judges outputs."""
    docstrings = config.get("docstrings", True)
    forbidden = config.get("forbidden_imports", [])
    known = {"docstrings", "forbidden_imports"}
    if type(docstrings) is not bool or set(config) - known or not (
            isinstance(forbidden, list) and all(isinstance(name, str) for name in forbidden)):
        raise Refused("python-code takes docstrings, true or false, and forbidden_imports, a list of modules",
                      "config_invalid", hint="write config: {docstrings: true, forbidden_imports: [os]}")

    def evaluate(request):
        if not isinstance(request.output, str):
            raise Refused("python-code judges the text of a program, and this is none", "output_invalid")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(request.output)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
            line = getattr(e, "lineno", None) or 1
            return verdict(1, [finding("syntax", line, f"it doesn't parse: {getattr(e, 'msg', e)}")])
        return judge(tree, docstrings, forbidden)

    return evaluate


def judge(tree, docstrings, forbidden):
    """Judges code that parses: the score is the share of checks that passed."""
    looked_at, errors = 1, []
    for node in ast.walk(tree):
        if docstrings and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name[0] != "_":
            looked_at += 1
            if not ast.get_docstring(node):
                errors.append(finding("docstring", node.lineno, f"{node.name} has no docstring"))
        for module in imports(node):
            looked_at += 1
            if module.split(".")[0] in forbidden:
                errors.append(finding("import", node.lineno, f"it imports {module}, which is forbidden"))
    return verdict(looked_at, sorted(errors, key=lambda e: e["message"]))


def imports(node):
    """Names the modules that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module]
    return []


def finding(code, line, message):
    return {"code": code, "message": f"line {line}: {message}"}


def verdict(looked_at, errors):
    return {"valid": not errors, "score": max(0, 1 - len(errors) / looked_at), "errors": errors}


if __name__ == "__main__":
    serve(Plugin(name="python-code", version="1.0.0", description="parses Python code and looks for docstrings and imports",
                 config_schema=CONFIG_SCHEMA, evaluator=prepare))
