import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { bundledIntoThePage, homes } from "./rules.ts";
import { root, sourceFiles } from "./sources.ts";

const read = (path: string): string => readFileSync(`${root}${path}`, "utf8");

/** The pages people read, the map of every folder among them. */
const pages = [
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "README.md",
  ...["docs", "src", "test"].flatMap((folder) =>
    readdirSync(`${root}${folder}`, { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".md") && !path.includes("node_modules"))
      .map((path) => `${folder}/${path}`),
  ),
];

test("the pages made from code say what the code says", async () => {
  const made = promisify(execFile)(process.execPath, ["scripts/reference.mjs", "--check"], { cwd: root });
  await expect(made).resolves.toMatchObject({ stderr: "" });
});

/** Paths in a page: targets of links, and words in code that begin like a folder of this repository or a floor of `src`. */
function* pathsIn(page: string, text: string): Generator<string> {
  for (const [, target = ""] of text.matchAll(/\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)/g))
    yield posix.join(posix.dirname(page), target);
  for (const [, word = ""] of text.matchAll(/`([\w.*/{},-]+)`/g)) {
    if (/^(?:src|test|docs|scripts|bench|examples|bin)\//.test(word)) yield* expand(word);
    if (/^(?:lib|engine|kernel|dialects|app)\//.test(word)) yield* expand(`src/${word}`);
  }
}

/** `a/{b,c}.ts` as `a/b.ts` and `a/c.ts`; a pattern as the folder it is in. */
function expand(word: string): readonly string[] {
  const [, before = "", inside = "", after = ""] = /^(.*)\{(.*)\}(.*)$/.exec(word) ?? [];
  const words = inside === "" ? [word] : inside.split(",").map((choice) => `${before}${choice}${after}`);
  return words.map((path) => (path.includes("*") ? path.slice(0, path.indexOf("*")).replace(/[^/]*$/, "") : path));
}

test("every path a page names exists", () => {
  const missing = pages.flatMap((page) =>
    [...pathsIn(page, read(page))]
      .filter((path) => !existsSync(`${root}${path}`))
      .map((path) => `${page} names ${path}`),
  );
  expect(missing).toEqual([]);
});

test("the check for paths sees links, words in code and lists in braces", () => {
  const text =
    "[a](../b.md#c) `src/x/{y,z}.ts` `test/crash/store-*` `npm test` [web](https://example.org/a) `x.ts` `lib/yaml`";
  const paths = ["docs/b.md", "src/x/y.ts", "src/x/z.ts", "test/crash/", "src/lib/yaml"];
  expect([...pathsIn("docs/decisions/1.md", text)]).toEqual(paths);
});

/** Files a map names first in a row or item, relative to its folder; later ones may lie beside the first. */
function* filesIn(map: string, text: string): Generator<readonly string[]> {
  const folder = posix.dirname(map);
  for (const [, cell = ""] of text.matchAll(/^(?:\||-)\s+((?:`[^`\s]+`(?:,\s*)?)+)/gm)) {
    const words = [...cell.matchAll(/`([^`]+)`/g)].flatMap(([, word = ""]) => expand(word));
    const beside = posix.dirname(words[0] ?? "");
    for (const word of words)
      if (/\.ts$|\/$/.test(word)) yield [posix.join(folder, word), posix.join(folder, beside, word)];
  }
}

test("a map of a folder names only files that are there", () => {
  const missing = pages
    .filter((page) => /^src\/.*README\.md$/.test(page))
    .flatMap((map) => [...filesIn(map, read(map))].map((places) => ({ map, places })))
    .filter(({ places }) => !places.some((path) => existsSync(`${root}${path}`)))
    .map(({ map, places }) => `${map} names ${places[0]}`);
  expect(missing).toEqual([]);
});

test("the check of maps sees rows and items", () => {
  const text = "| `a/b.ts`, `c.ts` | x |\n- `d/`: y\n| `word` | z |";
  expect([...filesIn("src/x/README.md", text)].flat()).toEqual([
    "src/x/a/b.ts",
    "src/x/a/a/b.ts",
    "src/x/c.ts",
    "src/x/a/c.ts",
    "src/x/d/",
    "src/x/d/",
  ]);
});

test.each(["kubernetes", "rebar", "tinkerbell", "vela", "wharf", "workflow"])(
  "the acceptance list of %s names only tests that are there",
  (part) => {
    const list = `test/conformance/${part}/README.md`;
    const words = [...read(list).matchAll(/`([\w.*/-]+\.ts)`/g)].flatMap(([, word = ""]) => expand(word));
    expect(words.length).toBeGreaterThan(40);
    const places = (word: string) => [posix.join(posix.dirname(list), word), `test/${word}`, word];
    const missing = words.filter((word) => !places(word).some((path) => existsSync(`${root}${path}`)));
    expect(missing).toEqual([]);
  },
);

/** Titles that a row of an acceptance list names, each with the places where its file may be. */
function* titlesIn(
  list: string,
  row: string,
): Generator<{ readonly places: readonly string[]; readonly title: string }> {
  for (const [, word = "", titles = ""] of row.matchAll(/`([\w./-]+\.ts)`((?:[:,] "[^"]+")+)/g)) {
    const places = [posix.join(posix.dirname(list), word), `test/${word}`, word];
    for (const [, title = ""] of titles.matchAll(/"([^"]+)"/g)) yield { places, title };
  }
}

/** The rows of all tables of a page that have a column of tests. */
const testedRows = (page: string): readonly string[] =>
  page
    .split(/\n(?!\|)/)
    .map((block) => block.trim().split("\n"))
    .filter(([head = ""]) => /^\|.*\bTests\b/.test(head))
    .flatMap((table) => table.slice(2));

/** Lists of what is relied on, each thing with its tests: how many lines are numbered, and how many other rows there are. */
const lists = {
  workflow: { lines: 38, others: 18 },
  tinkerbell: { lines: 40, others: 75 },
  vela: { lines: 26, others: 30 },
  wharf: { lines: 46, others: 37 },
  rebar: { lines: 37, others: 30 },
} as const;

/** Numbers of the lines that a page says no test shows yet. */
const waitingLines = (page: string): readonly string[] =>
  (/\n\| Line \| Waits for \|\n(?:\|.*\n)+/.exec(page)?.[0] ?? "")
    .split("\n")
    .flatMap((row) => /^\| (\d+) \|/.exec(row)?.[1] ?? []);

test.each(Object.entries(lists))("every line of the acceptance list of %s has a test of that name", (part, wanted) => {
  const list = `test/conformance/${part}/README.md`;
  const rows = testedRows(read(list));
  const lines = rows.flatMap((row) => /^\| (\d+) \|/.exec(row)?.[1] ?? []);
  const told = [...lines, ...waitingLines(read(list))].sort((a, b) => Number(a) - Number(b));
  expect(told).toEqual(Array.from({ length: wanted.lines }, (_, at) => `${at + 1}`));
  // The rows of the other tables are those of the specification.
  expect(rows.length - lines.length).toBe(wanted.others);
  const untested = rows.filter((row) => [...titlesIn(list, row)].length === 0);
  expect(untested).toEqual([]);
  const missing = rows
    .flatMap((row) => [...titlesIn(list, row)])
    .filter(({ places, title }) => {
      const path = places.find((place) => existsSync(`${root}${place}`));
      // Backquotes inside of a template are escaped.
      return path === undefined || !read(path).replaceAll("\\`", "`").includes(title);
    });
  expect(missing).toEqual([]);
});

test("a map of a folder fits one screen", () => {
  const long = pages.filter((page) => /^src\/.*README\.md$/.test(page) && read(page).trimEnd().split("\n").length > 40);
  expect(long).toEqual([]);
});

test("every environment variable the program reads is told", () => {
  const commandFiles = sourceFiles("src/dialects").filter((path) => path.includes("/commands/"));
  const told = read("docs/reference/cli.md");
  const asked = [...["src/app", "src/kernel/command"].flatMap(sourceFiles), ...commandFiles].flatMap((path) =>
    [...read(path).matchAll(/\bvariable\("(\w+)"\)/g)].map(([, name = ""]) => name),
  );
  const passedOn = wordsOf(/passedOn = \[([^\]]*)\]/.exec(read("src/kernel/command/host-environment.ts"))?.[1]);
  const atStart = wordsOf(/const \{([^}]*)\} = process\.env/.exec(read("bin/slipway.cjs"))?.[1]);
  for (const names of [asked, passedOn, atStart]) expect(names.length).toBeGreaterThan(1);
  expect([...asked, ...passedOn, ...atStart].filter((name) => !told.includes(`\`${name}\``))).toEqual([]);
});

/** Names in capitals, as those of variables are. */
const wordsOf = (text = ""): readonly string[] => text.match(/\b[A-Z][A-Z_]+\b/g) ?? [];

test("every script a page tells to run exists", () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Readonly<Record<string, string>> };
  const missing = pages.flatMap((page) =>
    [...read(page).matchAll(/\bnpm run (?:-s )?([\w:]+)/g)]
      .filter(([, name = ""]) => scripts[name] === undefined)
      .map(([words]) => `${page} says ${words}`),
  );
  expect(missing).toEqual([]);
});

test("every package the program needs has its row and its home", () => {
  const { dependencies } = JSON.parse(read("package.json")) as { dependencies: Readonly<Record<string, string>> };
  const rows = [...read("docs/decisions/0003-dependencies.md").matchAll(/^\| (`.+?`) \|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name),
  );
  expect([...rows].sort()).toEqual(Object.keys(dependencies).sort());
  expect(Object.keys(homes).sort()).toEqual([...Object.keys(dependencies), ...bundledIntoThePage].sort());
});

test("a decision has a number of its own, the same in its name and its title", () => {
  const names = readdirSync(`${root}docs/decisions`);
  const numbers = names.map((name) => name.slice(0, 4));
  expect(numbers).toEqual([...new Set(numbers)]);
  for (const name of names)
    expect(read(`docs/decisions/${name}`)).toMatch(new RegExp(`^# ${Number(name.slice(0, 4))}\\. `));
});
