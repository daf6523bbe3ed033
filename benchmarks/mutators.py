"""Plants one fault in a correct candidate: the operators of benchmarks/mutation.py. Text only, made for clang-formatted
code: a binary operator has a space on both sides, a template bracket none."""
import random
import re

# Places in `text` that are conditions, with the keyword before the parenthesis: ("for", start, end).
HEADER = re.compile(r"\b(for|if|while) \(")
TERM = r"\w+(?:\.\w+)*(?:\[[^\[\]]*\])*(?:\.\w+(?:\[\w+\])?)?(?:\([^()]*\))?"


def blank_comments(text):
    """`text` with comments, strings and preprocessor lines as spaces, and the plan too; offsets stay."""
    pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|^[ \t]*#[^\n]*'
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S | re.M)


def plan_end(text):
    return text.index("*/") + 2


def headers(code):
    for found in HEADER.finditer(code):
        depth, at = 1, found.end()
        while at < len(code) and depth:
            depth += {"(": 1, ")": -1}.get(code[at], 0)
            at += 1
        yield found.group(1), found.end(), at - 1


def in_headers(code, pattern, replacement, keywords=("for", "if", "while")):
    for keyword, start, end in headers(code):
        if keyword in keywords:
            for found in re.finditer(pattern, code[start:end]):
                yield start + found.start(), start + found.end(), found.expand(replacement)


def everywhere(code, pattern, replacement):
    for found in re.finditer(pattern, code, flags=re.M):
        yield found.start(), found.end(), found.expand(replacement)


def on_float_lines(code, pattern, replacement):
    """Lines that compute values and no indices: a declared float, an update, a store."""
    start = 0
    for line in code.splitlines(keepends=True):
        value = re.match(r"\s*(const float |float )\w+ = |\s*[\w.\[\]]+ [-+*/]= |\s*\w+\[[^=]*\] = |\s*return ", line)
        if value and "Idx" not in line:
            for found in re.finditer(pattern, line[value.end():]):
                at = start + value.end()
                yield at + found.start(), at + found.end(), found.expand(replacement)
        start += len(line)


def off_by_one_bound(text, code):
    for old, new in ((" < ", " <= "), (" <= ", " < "), (" >= ", " > "), (" > ", " >= ")):
        yield from in_headers(code, re.escape(old), new, ("for", "if"))


def skipped_tail(text, code):
    yield from in_headers(code, r" (<|>=) (\w+)(?=[;)]|$)", r" \1 \2 - 1", ("for", "if"))


def wrong_start(text, code):
    yield from in_headers(code, r" = (0|1|threadIdx\.x|slice|lane);", r" = \1 + 1;", ("for",))


def wrong_step(text, code):
    yield from in_headers(code, r"(\+=) (\w+)$", r"\1 2 * \2", ("for",))
    yield from in_headers(code, r"/= 2$", "/= 4", ("for",))


def lost_lanes(text, code):
    yield from in_headers(code, r"(= )16;", r"\g<1>8;", ("for",))
    yield from in_headers(code, r"(kLanes|kThreads) / 2;", r"\1 / 4;", ("for",))


def wrong_stride(text, code):
    yield from everywhere(code, r"(?<=\w \* )(columns|kColumns|kInner|inner|width|n|k|\d{2,})\b(?=[ \])])", r"(\1 - 1)")


def wrong_axis(text, code):
    if "threadIdx.y" in code:
        yield from everywhere(code, r"\bthreadIdx\.x\b", "threadIdx.y")
        yield from everywhere(code, r"\bblockIdx\.x\b", "blockIdx.y")
    yield from everywhere(code, r"(?<==)( [^=;]*\w)\[([\w.]+)\]\[([\w.]+)\]", r"\1[\3][\2]")
    yield from everywhere(code, r"(?<=\w) % (?=(?!32)\d{2,}|8\]|channels)", " / ")
    head = text[: plan_end(text)]
    for a, b in (("0", "1"), ("1", "0"), ("2", "3"), ("3", "2")):
        for found in re.finditer(rf'"i32": "\w+\.size\(({a})\)"', head):
            if f"size({b})" in head:
                yield found.start(1), found.end(1), b


def wrong_index(text, code):
    yield from on_float_lines(code, r"(?<=[a-z])\[(i|k|lane|col|column|first \+ i|row)\](?! !=)", r"[\1 + 1]")


def missing_bias(text, code):
    name = r"\w*(?:bias|beta|weight|gain|shift)\w*(?:\.at\[k\]|\[[^\[\]]*\])?"
    yield from on_float_lines(code, rf" [+*] {name}(?=[;)])", "")


def dropped_term(text, code):
    yield from on_float_lines(code, rf" [-+] (?!\w*(?:bias|beta|shift)){TERM}(?=[;)])", "")


def another_constant(text):
    """A constant 5 % larger; a tiny one, as an epsilon is, a thousand times as large."""
    value = float(text)
    changed = f"{value * (1000 if abs(value) < 1e-3 else 1.05):.8g}"
    return changed if "." in changed or "e" in changed else changed + ".0"


def wrong_constant(text, code):
    for found in re.finditer(r"(?<![\w.])(\d+\.\d*(?:e[-+]?\d+)?|\d+e[-+]?\d+)(?=f\b)", code):
        if float(found.group()):
            yield found.start(), found.end(), another_constant(found.group())
    for found in re.finditer(r'(?<="f32": )[\d.e+-]+', text[: plan_end(text)]):
        yield found.start(), found.end(), another_constant(found.group())


def wrong_initial_value(text, code):
    yield from everywhere(code, r"(?<=float )(\w+) = 0(?:\.0f)?(?=[;,])", r"\1 = 1.0f")
    yield from everywhere(code, r"(?<=, )(\w+) = 0(?=;)", r"\1 = 1.0f")
    yield from everywhere(code, r"(?<!== )-INFINITY", "1.0f")
    yield from everywhere(code, r"\{0\.0f\}|(?<=kNeutral = )0\.0f|\? 0\.0f :", "1.0f")


def wrong_operator(text, code):
    names = {"fmaxf": "fminf", "fminf": "fmaxf", "expf": "exp2f", "__expf": "exp2f", "rsqrtf": "sqrtf", "erff": "tanhf",
             "tanhf": "sinf", "sqrtf": "rsqrtf"}
    if "MinOf(float" in code:
        names |= {"MaxOf": "MinOf", "MinOf": "MaxOf"}
    for old, new in names.items():
        yield from everywhere(code, rf"(?<![\w.] )\b{old}(?=\((?!float))", new)
    for old, new in ((" + ", " - "), (" - ", " + "), (" * ", " + "), (" / ", " * ")):
        yield from on_float_lines(code, rf"(?<=[\w)\]]){re.escape(old)}(?=[\w(])(?![^\[]*\])", new)
    yield from everywhere(code, r"(?<=[\w\]]) \+= (?![^;]*;[^;]*\)\s*(?:\{|$))(?=[a-z]\w* ?[;*\[])", " -= ")


def lost_accumulation(text, code):
    for start, end, new in everywhere(code, r"(?<=[\w\]]) [-+*]= (?=[^;\n]*;)", " = "):
        if not any(a <= start < b for _, a, b in headers(code)):
            yield start, end, new


def dropped_sync(text, code):
    yield from everywhere(code, r"\b(?:__syncthreads\(\)|__syncwarp\([^;]*\)|[\w:]+\(\)\.sync\(\));", ";")


def dropped_statement(text, code):
    for start, end, new in everywhere(code, r"^( +)[\w.\[\]>-]+ (?:[-+*/]?=) [^;\n]*;$", r"\1;"):
        yield start, end, new
    yield from everywhere(code, r"^( +)(?:Store|[\w\[\]]+\.(?:Add|Merge))\([^;\n]*\);$", r"\1;")


def reduced_precision(text, code):
    # A float of bfloat16's and of TF32's length, by cutting the rest off.
    for bits in ("ffff0000", "ffffe000"):
        yield from everywhere(code, r"^( *const float \w+ = )(?!.*Idx)([^;\n]+);$",
                              rf"\1__uint_as_float(__float_as_uint(\2) & 0x{bits}u);")
        yield from everywhere(code, r"^( +\w+\[[^=\n]*\] = )(?!.*Idx)([^;\n]+);$",
                              rf"\1__uint_as_float(__float_as_uint(\2) & 0x{bits}u);")
        yield from everywhere(code, r"^( *\w+(?:\.\w+)? \+= )([a-z][^;\n)]*);$",
                              rf"\1__uint_as_float(__float_as_uint(\2) & 0x{bits}u);")


def swapped_operands(text, code):
    yield from on_float_lines(code, rf"(?<![\w)\]] )({TERM}) (-|/) ({TERM})(?=[;)])", r"\3 \2 \1")


def negated_condition(text, code):
    for keyword, start, end in headers(code):
        # What one thread of many stores, the others would store as well.
        if keyword == "if" and "== 0" not in code[start:end]:
            yield start, end, f"!({code[start:end]})"


def wrong_grid(text, code):
    for found in re.finditer(r'"grid": \[(?:"([^"]+)"|(\d+))', text[: plan_end(text)]):
        if found.group(2) is None:
            yield found.start(1), found.end(1), f"{found.group(1)} - 1"
        elif int(found.group(2)) > 1:
            yield found.start(2), found.end(2), str(int(found.group(2)) - 1)


OPERATORS = [off_by_one_bound, skipped_tail, wrong_start, wrong_step, lost_lanes, wrong_stride, wrong_axis, wrong_index,
             missing_bias, dropped_term, wrong_constant, wrong_initial_value, wrong_operator, lost_accumulation,
             dropped_sync, dropped_statement, reduced_precision, swapped_operands, negated_condition, wrong_grid]


def mutants_of(name, text, operator):
    """Every mutant that an operator makes of a candidate: dicts of id, operator, line, before, after, text."""
    code = blank_comments(text)
    seen, ordinals = set(), {}
    for start, end, new in sorted(operator(text, code)):
        changed = text[:start] + new + text[end:]
        if changed == text or changed in seen:
            continue
        seen.add(changed)
        line = text.count("\n", 0, start) + 1
        ordinals[line] = ordinals.get(line, 0) + 1
        yield {"id": f"{name}:{operator.__name__}:{line}:{ordinals[line]}", "operator": operator.__name__, "line": line,
               "before": text.splitlines()[line - 1].strip(), "after": changed.splitlines()[line - 1].strip(),
               "text": changed}


def choose(sources, count, seed):
    """`count` mutants of (name, text) sources, as evenly over operators and sources as they allow; always the same."""
    order = random.Random(seed)
    piles = {}
    for operator in OPERATORS:
        for name, text in sources:
            found = list(mutants_of(name, text, operator))
            order.shuffle(found)
            piles.setdefault(operator.__name__, []).append((name, found))
    for of_operator in piles.values():
        order.shuffle(of_operator)
    chosen = []
    while len(chosen) < count and any(pile for of_operator in piles.values() for _, pile in of_operator):
        for of_operator in piles.values():
            of_operator[:] = [(name, pile) for name, pile in of_operator if pile]
            if of_operator and len(chosen) < count:
                name, pile = of_operator.pop(0)
                chosen.append((name, pile.pop()))
                of_operator.append((name, pile))
    return chosen
