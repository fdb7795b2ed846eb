// Globs of definitions are matched here and not turned into regular expressions: a definition is not trusted with the time of whoever matches it.

/** Alternatives of one glob; more are a mistake, or worse. */
const mostAlternatives = 1000;

/**
 * Whether a glob means a path, both with `/`. `*` and `?` stand for characters of one name, `[a-z]` and `[!a-z]` for one of them, `**` for any
 * directories, `{a,b}` for either, and a backslash takes a character as it is. Names that begin with a dot are names like others. A glob that means a
 * directory means everything in it. O(length of the glob x length of the path) for each alternative.
 */
export type Glob = (path: string) => boolean;

/** Undefined for one that leads out of the directory it is relative to, or has too many alternatives. */
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

/** `a{b,c{d,e}}` is `ab`, `acd` and `ace`. Braces without a comma are braces. Undefined when there are too many. */
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

/** The texts that the first braces make; undefined without braces. */
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

/** The place of a character that no backslash takes as it is; -1 when there is none. */
function indexOfPlain(text: string, wanted: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === wanted) return at;
  }
  return -1;
}

/** Whether the parts mean these names, or directories that they begin with. */
function matchesBeginning(parts: readonly string[], names: readonly string[]): boolean {
  // Which parts may come next, name by name: `**` stays possible.
  let possible = new Set(afterStars(parts, 0));
  for (const name of names) {
    const next = new Set<number>();
    for (const at of possible) {
      // It takes this name and may take more; at the end it takes all that is left.
      if (parts[at] === "**")
        for (const one of at === parts.length - 1 ? [parts.length] : afterStars(parts, at)) next.add(one);
      else if (at < parts.length && matchesName(parts[at] ?? "", name))
        for (const one of afterStars(parts, at + 1)) next.add(one);
    }
    // Nothing is left to match: what follows is in a directory that is meant.
    if (next.has(parts.length)) return true;
    possible = next;
  }
  return false;
}

/** A part, and those behind it that `**` lets begin at the same name. */
function afterStars(parts: readonly string[], at: number): readonly number[] {
  const found = [at];
  for (let next = at; parts[next] === "**"; next++) if (next + 1 < parts.length) found.push(next + 1);
  return found;
}

/** One name; the last `*` alone is ever gone back to, which is what makes it quick. */
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

/** What stands in brackets. */
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
