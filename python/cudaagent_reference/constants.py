"""--const NAME=VALUE: other values for the constants at the top level of model.py."""

import ast
import difflib

from cudaagent_reference.trouble import usage


def _names(target):
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for element in target.elts for name in _names(element)]
    if isinstance(target, ast.Starred):
        return _names(target.value)
    return []


def _bound_by(statement):
    if isinstance(statement, ast.Assign):
        return [name for target in statement.targets for name in _names(target)]
    if isinstance(statement, ast.AugAssign):
        return _names(statement.target)
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        return _names(statement.target)
    return []


def nearest(name, known):
    close = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean '{close[0]}'?" if close else ""


def parse(consts):
    """{"N": "64"} -> {"N": the literal's expression node}"""
    literals = {}
    for name, text in consts.items():
        try:
            ast.literal_eval(text.strip())
            literals[name] = ast.parse(text.strip(), mode="eval").body
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            raise usage(f"--const {name}={text}: the value is not a Python literal. Write a "
                        f"number, True, None, a tuple, or a string in quotes.") from None
    return literals


def override(tree, literals, file):
    """Binds each NAME anew right after each top-level statement that binds it, so that whatever is
    computed from it further down follows."""
    known = dict.fromkeys(name for statement in tree.body for name in _bound_by(statement)
                          if not name.startswith("__"))
    for name in literals:
        if name in known:
            continue
        if not known:
            raise usage(f"--const {name}: {file} assigns no constants at its top level.")
        raise usage(f"--const {name}: {file} has no constant '{name}'.{nearest(name, known)} "
                    f"Its constants are {', '.join(known)}.")
    body = []
    for statement in tree.body:
        body.append(statement)
        for name in dict.fromkeys(_bound_by(statement)):
            if name in literals:
                target = ast.Name(id=name, ctx=ast.Store())
                anew = ast.Assign(targets=[target], value=literals[name])
                for node in ast.walk(anew):
                    ast.copy_location(node, statement)
                body.append(anew)
    tree.body = body
