/**
 * Index of one of sixteen colours of the theme: black, red, green, yellow, blue, magenta, cyan, white, and their bright
 * forms.
 */
export type Colour = number;

export interface Style {
  readonly text?: Colour;
  readonly ground?: Colour;
  readonly bold?: true;
  readonly dim?: true;
  readonly italic?: true;
  readonly underline?: true;
  readonly inverse?: true;
}

export interface Piece {
  readonly text: string;
  readonly style: Style;
}

export interface ParsedLine {
  readonly pieces: readonly Piece[];
  /** With which the next line begins. */
  readonly style: Style;
}

export const plain: Style = {};

/** Parameters of one sequence that are read; more of them are a bomb, not a style. */
const mostParameters = 64;

// Escape sequences with their ends, single controls but tab and carriage return, and marks that turn the direction of
// what follows. Every alternative begins with another character and repeats one class, so that no text takes more than
// linear time.
const control =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal obeys.
  /\x1b\[[0-?]*[ -/]*[@-~]?|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|\x1b[ -/]*[0-~]?|\x9b[0-?]*[ -/]*[@-~]?|[\x90\x98\x9d\x9e\x9f][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|[\0-\x08\x0a-\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

/**
 * One line as a terminal leaves it: pieces of one style each, without any control character but tabs. What a carriage
 * return overwrites is left out. `style` is how the line before ended.
 */
export function parseLine(line: string, style: Style = plain): ParsedLine {
  const rows = line.split("\r");
  let current = style;
  let pieces: readonly Piece[] = [];
  for (const row of rows) {
    const parsed = parseRow(row, current);
    current = parsed.style;
    if (parsed.pieces.length > 0) pieces = parsed.pieces;
  }
  return { pieces, style: current };
}

function parseRow(row: string, style: Style): ParsedLine {
  const pieces: Piece[] = [];
  let current = style;
  let from = 0;
  const push = (text: string): void => {
    if (text === "") return;
    const last = pieces.at(-1);
    if (last !== undefined && last.style === current)
      pieces[pieces.length - 1] = { text: last.text + text, style: current };
    else pieces.push({ text, style: current });
  };
  for (const match of row.matchAll(control)) {
    push(row.slice(from, match.index));
    from = match.index + match[0].length;
    current = afterSequence(match[0], current);
  }
  push(row.slice(from));
  return { pieces, style: current };
}

/** Text without styles, for searching and copying. */
export const plainText = (line: string): string =>
  parseLine(line)
    .pieces.map(({ text }) => text)
    .join("");

/** Styles that lines leave behind change only with these. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the introducer of sequences.
export const hasSequences = (line: string): boolean => /[\x1b\x9b]/.test(line);

function afterSequence(sequence: string, style: Style): Style {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the introducer of sequences.
  const [, list] = /^(?:\x1b\[|\x9b)([\d;:]*)m$/.exec(sequence) ?? [];
  if (list === undefined) return style;
  const codes = list.split(/[;:]/, mostParameters).map(Number);
  let next = style;
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    if (code === 38 || code === 48) {
      const { colour, used } = extendedColour(codes, at + 1);
      at += used;
      if (colour !== undefined) next = { ...next, [code === 38 ? "text" : "ground"]: colour };
    } else next = afterCode(code, next);
  }
  return next;
}

const without = (style: Style, ...names: readonly (keyof Style)[]): Style =>
  Object.fromEntries(Object.entries(style).filter(([name]) => !names.some((gone) => gone === name)));

function afterCode(code: number, style: Style): Style {
  switch (code) {
    case 0:
      return plain;
    case 1:
      return { ...style, bold: true };
    case 2:
      return { ...style, dim: true };
    case 3:
      return { ...style, italic: true };
    case 4:
    case 21:
      return { ...style, underline: true };
    case 7:
      return { ...style, inverse: true };
    case 22:
      return without(style, "bold", "dim");
    case 23:
      return without(style, "italic");
    case 24:
      return without(style, "underline");
    case 27:
      return without(style, "inverse");
    case 39:
      return without(style, "text");
    case 49:
      return without(style, "ground");
  }
  if (code >= 30 && code <= 37) return { ...style, text: code - 30 };
  if (code >= 40 && code <= 47) return { ...style, ground: code - 40 };
  if (code >= 90 && code <= 97) return { ...style, text: code - 82 };
  if (code >= 100 && code <= 107) return { ...style, ground: code - 92 };
  return style;
}

/** `5;N` and `2;R;G;B`. */
function extendedColour(codes: readonly number[], at: number): { readonly colour?: Colour; readonly used: number } {
  const [kind, first = 0, second = 0, third = 0] = codes.slice(at, at + 4);
  if (kind === 5) return { colour: ofPalette(first), used: 2 };
  if (kind === 2) return { colour: nearestColour(first, second, third), used: 4 };
  return { used: 1 };
}

const levels = [0, 95, 135, 175, 215, 255];

function ofPalette(index: number): Colour {
  if (index < 16) return index;
  if (index >= 232) {
    const grey = 8 + 10 * (Math.min(index, 255) - 232);
    return nearestColour(grey, grey, grey);
  }
  const level = (step: number): number => levels[Math.floor((index - 16) / step) % 6] ?? 0;
  return nearestColour(level(36), level(6), level(1));
}

/** By hue and lightness: the theme's colours can be read on its surface, which colours of a program may not be. */
export function nearestColour(red: number, green: number, blue: number): Colour {
  const most = Math.max(red, green, blue);
  const spread = most - Math.min(red, green, blue);
  if (spread < 40) return most < 64 ? 0 : most < 144 ? 8 : most < 216 ? 7 : 15;
  const half = most - spread / 2;
  const hue = (red >= half ? 1 : 0) + (green >= half ? 2 : 0) + (blue >= half ? 4 : 0);
  return most >= 208 ? hue + 8 : hue;
}

/** Cut between characters: no half of a surrogate pair is left. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  const code = text.charCodeAt(most - 1);
  return text.slice(0, code >= 0xd800 && code < 0xdc00 ? most - 1 : most);
}

/** The pieces of the first `most` characters. */
export function cutPieces(pieces: readonly Piece[], most: number): readonly Piece[] {
  const kept: Piece[] = [];
  let left = most;
  for (const { text, style } of pieces) {
    if (left <= 0) break;
    kept.push({ text: cutText(text, left), style });
    left -= text.length;
  }
  return kept;
}
