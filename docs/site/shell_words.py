# SPDX-License-Identifier: Apache-2.0
"""Holds command lines on pages against what the programs say of themselves: options of the planner, verbs of bootstrap.sh."""
import re
import shlex
import subprocess


def known_options(plan, root):
    """Program name -> words that it knows."""
    said = subprocess.run([plan, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    options = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", said)) | {"-h"}
    verbs = set(re.findall(r"^  ([a-z]+)(?: \|.*)?\) ", (root / "bootstrap.sh").read_text(), re.M))
    if len(options) < 20 or "test" not in verbs:
        raise SystemExit(f"{plan} --help names {len(options)} options, bootstrap.sh {len(verbs)} verbs: this check does not see them")
    return {"plan": options, "./bootstrap.sh": verbs | {"help"}}


def check_commands(body, known):
    """What is wrong with the commands of a block, or an empty text."""
    for line in re.sub(r"\\\n", " ", body).split("\n"):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as e:
            return f"'{line}': {e}"
        while words and re.fullmatch(r"\w+=.*", words[0]):
            words.pop(0)
        if not words:
            continue
        name = "plan" if words[0].endswith("/plan") else words[0]
        if name == "plan":
            for word in words[1:]:
                if word in ("|", ">", "&&", ";"):
                    break
                if word.startswith("--") and word.split("=")[0] not in known["plan"]:
                    return f"'{line}': plan has no option {word}"
        elif name == "./bootstrap.sh" and len(words) > 1 and words[1] not in known[name]:
            return f"'{line}': bootstrap.sh has no verb {words[1]}"
    return ""
