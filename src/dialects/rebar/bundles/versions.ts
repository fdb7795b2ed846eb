// Versions of bundles and what they demand of each other. More tolerant than semantic versioning: a leading `v`, and
// missing parts, are fine, and everything after the first `-` is ignored.

export type Version = readonly [number, number, number];

/** What drpcli writes where nobody has said one. */
const unspecified = new Set(["", "unspecified", "unversioned"]);

export function readVersion(text: string): Version | undefined {
  const [numbers = ""] = text.trim().replace(/^v/i, "").split("-", 1);
  if (unspecified.has(text.trim().toLowerCase())) return [0, 0, 0];
  const match = /^(\d{1,15})(?:\.(\d{1,15}))?(?:\.(\d{1,15}))?(?:\+.*)?$/.exec(numbers);
  return match === null ? undefined : [Number(match[1]), Number(match[2] ?? 0), Number(match[3] ?? 0)];
}

const compare = (a: Version, b: Version): number => a[0] - b[0] || a[1] - b[1] || a[2] - b[2];

type Test = (version: Version) => boolean;

const operators: Readonly<Record<string, (order: number) => boolean>> = {
  "<": (order) => order < 0,
  "<=": (order) => order <= 0,
  ">": (order) => order > 0,
  ">=": (order) => order >= 0,
  "": (order) => order === 0,
  "=": (order) => order === 0,
  "==": (order) => order === 0,
  "!": (order) => order !== 0,
  "!=": (order) => order !== 0,
};

/** `>=1.2 <2.0 || ==3.1`: a space is "and". Undefined if it cannot be read. */
export function readRange(text: string): Test | undefined {
  const alternatives = text.split("||").map(allOf);
  if (alternatives.some((test) => test === undefined)) return undefined;
  return (version) => alternatives.some((test) => test?.(version) === true);
}

function allOf(text: string): Test | undefined {
  // An operator may stand apart from its version.
  const terms = text.trim().match(/[<>=!]*\s*[^\s<>=!]+/g) ?? [];
  if (terms.join("").replaceAll(/\s/g, "") !== text.replaceAll(/\s/g, "") || terms.length === 0) return undefined;
  const tests = terms.map((term): Test | undefined => {
    const [, operator = "", wanted = ""] = /^([<>=!]*)\s*(.*)$/.exec(term) ?? [];
    const version = readVersion(wanted);
    const holds = operators[operator];
    if (version === undefined || holds === undefined) return undefined;
    return (found) => holds(compare(found, version));
  });
  if (tests.some((test) => test === undefined)) return undefined;
  return (version) => tests.every((test) => test?.(version) === true);
}

/** Lists in metadata are separated by commas or blanks. */
export const listOf = (text: string): readonly string[] => text.split(/[\s,]+/).filter((item) => item !== "");

export interface Prerequisite {
  readonly name: string;
  /** Undefined: any version. */
  readonly range: string | undefined;
}

/** `NAME: RANGE, NAME`: ranges hold blanks, so only commas separate. */
export const prerequisitesOf = (text: string): readonly Prerequisite[] =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "")
    .map((item) => {
      const colon = item.indexOf(":");
      if (colon < 0) return { name: item, range: undefined };
      const range = item.slice(colon + 1).trim();
      return { name: item.slice(0, colon).trim(), range: range === "" ? undefined : range };
    });
