#!/usr/bin/env python3
"""word-limit is a plugin: an evaluator that refuses long texts."""

from reflectory import Plugin, Refused, serve


def word_limit(config):
    """Checks the config, once, and returns what judges the outputs."""
    most = config.get("max")
    if type(most) is not int or most < 1 or len(config) > 1:
        raise Refused("word-limit needs max, a whole number of 1 or more, and nothing else", "config_invalid",
                      hint="write config: {max: 200}")

    def evaluate(request):
        if not isinstance(request.output, str):
            raise Refused("word-limit judges texts, and this is none", "output_invalid")
        words = len(request.output.split())
        if words <= most:
            return {"valid": True, "score": 1}
        return {
            "score": most / words,
            "errors": [{"message": f"{words} words, at most {most} are allowed", "code": "too_long"}],
        }

    return evaluate


if __name__ == "__main__":
    serve(Plugin(name="word-limit", version="0.1.0", evaluator=word_limit))
