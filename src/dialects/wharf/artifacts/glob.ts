// Matched directly instead of by regular expressions, so that a definition cannot cause exponential time.

const mostAlternatives = 1000;

/** Matches paths with `/`: `*` and `?` within a name, `[a-z]` and `[!a-z]`, `**` for directories, `{a,b}`, and
 * backslash escapes. Names with a leading dot are ordinary. A matching directory includes its contents. O(glob x path)
 * per alternative. */
export type Glob = (path: string) => boolean;

/** Undefined if the glob leaves its directory or has too many alternatives. */
export function parseGlob(text: string): Glob | undefined {
  const alternatives = expandBraces(text);
  if (alternatives === undefined) return undefined;
  const patterns = alternatives.map((one) => one.split("/").filter((part) => part !== "" && part !== "."));
  if (/^(?:\/|[A-Za-z]:)/.test(text) || patterns.some((parts) => parts.includes(".."))) return undefined;
  return (path) => {
    const names = path.split("/");
    return patterns.some((parts) => parts.length > 0 && matchesBeginning(parts, names));
  };
}

/** Undefined if there are too many; braces without a comma are literal. */
function expandBraces(text: string): readonly string[] | undefined {
  let waiting = [text];
  const done: string[] = [];
  while (waiting.length > 0) {
    const next: string[] = [];
    for (const one of waiting) {
      const parts = firstBraces(one);
      if (parts === undefined) done.push(one);
      else next.push(...parts);
      if (done.length + next.length > mostAlternatives) return undefined;
    }
    waiting = next;
  }
  return done;
}

function firstBraces(text: string): readonly string[] | undefined {
  for (let open = indexOfPlain(text, "{", 0); open >= 0; open = indexOfPlain(text, "{", open + 1)) {
    const cuts = [open];
    let depth = 0;
    for (let at = open; at < text.length; at++) {
      const character = text[at];
      if (character === "\\") at += 1;
      else if (character === "{") depth += 1;
      else if (character === "," && depth === 1) cuts.push(at);
      else if (character === "}" && --depth === 0) {
        if (cuts.length === 1) break;
        const inner = cuts.map((cut, index) => text.slice(cut + 1, cuts[index + 1] ?? at));
        return inner.map((one) => text.slice(0, open) + one + text.slice(at + 1));
      }
    }
  }
  return undefined;
}

function indexOfPlain(text: string, wanted: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === wanted) return at;
  }
  return -1;
}

function matchesBeginning(parts: readonly string[], names: readonly string[]): boolean {
  let possible = new Set(afterStars(parts, 0));
  for (const name of names) {
    const next = new Set<number>();
    for (const at of possible) {
      // `**` may match more names; at the end it matches the rest.
      if (parts[at] === "**")
        for (const one of at === parts.length - 1 ? [parts.length] : afterStars(parts, at)) next.add(one);
      else if (at < parts.length && matchesName(parts[at] ?? "", name))
        for (const one of afterStars(parts, at + 1)) next.add(one);
    }
    if (next.has(parts.length)) return true;
    possible = next;
  }
  return false;
}

function afterStars(parts: readonly string[], at: number): readonly number[] {
  const found = [at];
  for (let next = at; parts[next] === "**"; next++) if (next + 1 < parts.length) found.push(next + 1);
  return found;
}

/** Backtracks only to the last `*`, which makes it linear per star. */
function matchesName(pattern: string, name: string): boolean {
  const tokens = tokensOf(pattern);
  const characters = Array.from(name);
  let at = 0;
  let star = -1;
  let from = 0;
  for (let index = 0; index < characters.length; ) {
    const token = tokens[at];
    if (token === "star") {
      star = at++;
      from = index;
    } else if (token?.(characters[index] ?? "") === true) {
      at += 1;
      index += 1;
    } else if (star >= 0) {
      at = star + 1;
      index = ++from;
    } else return false;
  }
  while (tokens[at] === "star") at += 1;
  return at === tokens.length;
}

type Token = "star" | ((character: string) => boolean);

function tokensOf(pattern: string): readonly Token[] {
  const tokens: Token[] = [];
  const characters = Array.from(pattern);
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] ?? "";
    const close = character === "[" ? characters.indexOf("]", at + (characters[at + 1] === "!" ? 3 : 2)) : -1;
    if (character === "*") tokens.push("star");
    else if (character === "?") tokens.push(() => true);
    else if (close > 0) {
      tokens.push(setOf(characters.slice(at + 1, close)));
      at = close;
    } else {
      const plain = character === "\\" ? (characters[++at] ?? "\\") : character;
      tokens.push((other) => other === plain);
    }
  }
  return tokens;
}

function setOf(inside: readonly string[]): (character: string) => boolean {
  const isNot = inside[0] === "!";
  const ranges: (readonly [string, string])[] = [];
  for (let at = isNot ? 1 : 0; at < inside.length; at++) {
    const low = inside[at] ?? "";
    const high = inside[at + 2];
    if (inside[at + 1] === "-" && high !== undefined) {
      ranges.push([low, high]);
      at += 2;
    } else ranges.push([low, low]);
  }
  return (character) => isNot !== ranges.some(([low, high]) => low <= character && character <= high);
}
