import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type FileFigures, measure, quantile, total } from "./figures.ts";
import { root, sourceFiles, trackedFiles } from "./sources.ts";

// What the code is allowed to look like, in figures. The limits are those of the best codebases of the field, measured; a
// figure beyond its limit is not a style question any more. Tests are not counted.

const floors = ["app", "dialects", "kernel", "engine", "lib"] as const;
const isTest = (path: string) => /\.(?:test|contract)\.ts$/.test(path) || path.includes("/testing/");
const files: readonly FileFigures[] = sourceFiles("src")
  .filter((path) => !isTest(path))
  .map((path) => measure(path, readFileSync(`${root}${path}`, "utf8")));

const limits = {
  fileMedian: 100,
  fileP90: 300,
  functionMedian: 8,
  functionP90: 35,
  /** Percent of functions over 60 lines. */
  longFunctions: 3,
  /** Percent of lines. */
  comments: 30,
  castsPerThousandLines: 3,
};

/** Modules that may say `any`, for types that cannot be written otherwise; none so far. At most two. */
const homesOfAny: readonly string[] = [];

/** A figure beyond its limit, with the files to look at first. */
interface Excess {
  readonly floor: string;
  readonly figure: string;
  readonly expected: string;
  readonly found: string;
  /** In the order in which they should be looked at. */
  readonly worst: readonly string[];
}

const inWords = ({ floor, figure, expected, found, worst }: Excess): string =>
  [
    `${floor}: ${figure}: expected ${expected}, found ${found}; the worst:`,
    ...worst.slice(0, 5).map((line) => `  ${line}`),
  ].join("\n");

const expectNone = (excesses: readonly Excess[]) => {
  expect(excesses.map(inWords).join("\n")).toBe("");
};

const onFloor = (floor: string): readonly FileFigures[] => files.filter(({ path }) => path.startsWith(`src/${floor}/`));
const byMost = <T>(items: readonly T[], of: (item: T) => number): readonly T[] =>
  items.toSorted((a, b) => of(b) - of(a));
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

test("every source is counted, on a floor", () => {
  const tracked = trackedFiles("src").filter((path) => !isTest(path));
  expect(tracked.length).toBeGreaterThan(0);
  expect(tracked.filter((path) => !files.some((file) => file.path === path))).toEqual([]);
  expect(files.filter(({ path }) => !floors.some((floor) => path.startsWith(`src/${floor}/`)))).toEqual([]);
});

test("files are short", () => {
  const lengths = files.map(({ lines }) => lines);
  const worst = byMost(files, ({ lines }) => lines).map(({ path, lines }) => `${path} has ${lines} lines`);
  const check = (figure: string, part: number, limit: number): Excess[] => {
    const found = quantile(lengths, part);
    if (found <= limit) return [];
    return [{ floor: "src", figure, expected: `at most ${limit} lines`, found: `${found}`, worst }];
  };
  expectNone([
    ...check("median length of files", 0.5, limits.fileMedian),
    ...check("length of nine files in ten", 0.9, limits.fileP90),
  ]);
});

test("functions are short", () => {
  const functions = byMost(
    files.flatMap(({ path, functions: own }) => own.map((one) => ({ path, ...one }))),
    ({ lines }) => lines,
  );
  const lengths = functions.map(({ lines }) => lines);
  const worst = functions.map(({ path, line, lines }) => `${path}:${line} has ${lines} lines`);
  const check = (figure: string, found: number, limit: number, unit: string): Excess[] =>
    found <= limit ? [] : [{ floor: "src", figure, expected: `at most ${limit} ${unit}`, found: `${found}`, worst }];
  const long = (100 * lengths.filter((lines) => lines > 60).length) / lengths.length;
  expectNone([
    ...check("median length of functions", quantile(lengths, 0.5), limits.functionMedian, "lines"),
    ...check("length of nine functions in ten", quantile(lengths, 0.9), limits.functionP90, "lines"),
    ...check("functions over 60 lines", long, limits.longFunctions, "%"),
  ]);
});

test("no floor is buried in comments", () => {
  expectNone(
    floors.flatMap((floor): Excess[] => {
      const own = onFloor(floor);
      const share = total(own.map(({ commentLines }) => commentLines)) / total(own.map(({ lines }) => lines));
      if (100 * share <= limits.comments) return [];
      // In lines: a short file matters less than a long one.
      const worst = byMost(own, ({ lines, commentLines }) => commentLines - (limits.comments / 100) * lines);
      return [
        {
          floor,
          figure: "comments",
          expected: `at most ${limits.comments} % of the lines`,
          found: percent(share),
          worst: worst.map(({ path, lines, commentLines }) => `${path}: ${commentLines} of ${lines} lines`),
        },
      ];
    }),
  );
});

test("nothing is of any type", () => {
  const worst = byMost(files, ({ anys }) => anys).filter(({ anys, path }) => anys > 0 && !homesOfAny.includes(path));
  expect(homesOfAny.length).toBeLessThanOrEqual(2);
  expect(worst.map(({ path, anys }) => `${path} says any ${anys} times`)).toEqual([]);
});

test("types are asserted at decoding borders only", () => {
  expectNone(
    floors.flatMap((floor): Excess[] => {
      const own = onFloor(floor);
      const found = (1000 * total(own.map(({ casts }) => casts))) / total(own.map(({ lines }) => lines));
      if (found < limits.castsPerThousandLines) return [];
      const expected = `fewer than ${limits.castsPerThousandLines} in 1,000 lines`;
      const worst = byMost(own, ({ casts }) => casts).map(({ path, casts }) => `${path} has ${casts}`);
      return [{ floor, figure: "as", expected, found: found.toFixed(1), worst }];
    }),
  );
});

const sample = `// One.
/**
 * Two.
 */
export const f = (value: unknown): string[] => {
  // A reason.
  return [value as string, "// no comment"]; // behind code
};

const g = (x: any) => x as unknown as any[];
const list = ["a"] as const;

class C {
  m(): void {
    /* in
       two lines */
    for (const item of list) void item;
  }
}
`;

test("the counting counts", () => {
  expect(measure("sample.ts", sample)).toEqual({
    path: "sample.ts",
    lines: 19,
    commentLines: 7,
    functions: [
      { line: 5, lines: 4 },
      { line: 14, lines: 5 },
    ],
    anys: 2,
    casts: 3,
  });
  expect(() => measure("broken.ts", "const =")).toThrow("broken.ts");
});

test("a quantile is a value that occurs", () => {
  expect(quantile([], 0.5)).toBe(0);
  expect([0.1, 0.5, 0.9, 1].map((part) => quantile([5, 1, 4, 2, 3], part))).toEqual([1, 3, 5, 5]);
});

test("an excess names the floor, the limit and the five worst files", () => {
  const worst = ["a", "b", "c", "d", "e", "f"];
  expect(inWords({ floor: "lib", figure: "comments", expected: "15 to 30 %", found: "3.0 %", worst })).toBe(
    "lib: comments: expected 15 to 30 %, found 3.0 %; the worst:\n  a\n  b\n  c\n  d\n  e",
  );
});
