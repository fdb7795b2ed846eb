import { parseSync } from "oxc-parser";
import { expect, test } from "vitest";
import { bannedGlobals } from "./rules.ts";
import { readSource, sourceFiles } from "./sources.ts";

const isTest = (path: string) => /\.(?:test|contract)\.ts$/.test(path) || path.includes("/testing/");
const sources = sourceFiles("src")
  .filter((path) => !isTest(path))
  .map(readSource);

/** Member expressions, calls and identifiers of a syntax tree, as `Date.now`, `new Date()`, `console`, with their offsets. */
function* mentions(node: unknown): Generator<{ readonly name: string; readonly start: number }> {
  if (typeof node !== "object" || node === null) return;
  if (Array.isArray(node)) {
    for (const child of node) yield* mentions(child);
    return;
  }
  const item = node as { type?: string; start?: number } & Record<string, unknown>;
  const start = item.start ?? 0;
  if (item.type === "MemberExpression" && item["computed"] === false) {
    yield { name: `${nameOf(item["object"])}.${nameOf(item["property"])}`, start };
    yield* mentions(item["object"]);
    return;
  }
  if (
    item.type === "NewExpression" &&
    nameOf(item["callee"]) === "Date" &&
    (item["arguments"] as unknown[]).length === 0
  ) {
    yield { name: "new Date()", start };
  }
  if (item.type === "CallExpression" || item.type === "Identifier")
    yield { name: nameOf(item["callee"] ?? item), start };
  for (const [key, child] of Object.entries(item))
    if (!(item.type === "Property" && key === "key")) yield* mentions(child);
}

const nameOf = (node: unknown): string => {
  const named = node as { type?: string; name?: string } | null;
  return named?.type === "Identifier" ? (named.name ?? "") : "";
};

test("time, chance, the environment and the console are reached only in their homes", () => {
  const found = sources.flatMap((source) =>
    [...mentions(source.program.body)].flatMap(({ name, start }) => {
      const ban = bannedGlobals.find(
        (banned) => banned.name === name || (banned.name === "console" && name.startsWith("console.")),
      );
      if (ban === undefined || ban.homes.some((home) => source.path.startsWith(home))) return [];
      return [`${source.path}:${source.text.slice(0, start).split("\n").length} uses ${ban.name}`];
    }),
  );
  expect([...new Set(found)]).toEqual([]);
});

test("the check for globals sees them", () => {
  const seen = [
    ...mentions({
      type: "MemberExpression",
      computed: false,
      object: { type: "Identifier", name: "Date" },
      property: { type: "Identifier", name: "now" },
    }),
  ];
  expect(seen.map((m) => m.name)).toContain("Date.now");
});

/** Offsets of calls of any `mkdir` with options in which `recursive` is set, or may be: what is not written out cannot be judged. */
function* recursiveMkdirs(node: unknown): Generator<number> {
  if (typeof node !== "object" || node === null) return;
  if (Array.isArray(node)) {
    for (const child of node) yield* recursiveMkdirs(child);
    return;
  }
  const item = node as { type?: string; start?: number } & Record<string, unknown>;
  if (item.type === "CallExpression") {
    const callee = item["callee"] as { readonly property?: unknown };
    const [, options] = item["arguments"] as readonly Syntax[];
    if (/^mkdir(?:Sync)?$/.test(nameOf(callee.property ?? callee)) && options !== undefined && !isFlat(options))
      yield item.start ?? 0;
  }
  for (const child of Object.values(item)) yield* recursiveMkdirs(child);
}

interface Syntax {
  readonly type: string;
  readonly properties?: readonly { readonly type: string; readonly key?: unknown }[];
}

/** A mode, or options without `recursive`. */
const isFlat = ({ type, properties = [] }: Syntax): boolean =>
  type === "Literal" ||
  (type === "ObjectExpression" &&
    properties.every((property) => property.type === "Property" && !["", "recursive"].includes(nameOf(property.key))));

test("directories are made by makeDirectories: Node's own recursive mkdir never ends for some paths", () => {
  const found = sources.flatMap(({ path, text, program }) =>
    [...recursiveMkdirs(program.body)].map((start) => `${path}:${text.slice(0, start).split("\n").length}`),
  );
  expect(found).toEqual([]);
});

test.each([
  ["mkdir(path)", 0],
  ["mkdir(path, 0o700)", 0],
  ["mkdir(path, { mode: 0o700 })", 0],
  ["mkdir(path, { recursive: true, mode: 0o700 })", 1],
  ["mkdir(path, { 'recursive': true })", 1],
  ["fs.promises.mkdir(path, { recursive: true })", 1],
  ["() => { fs.mkdirSync(path, { ...options }) }", 1],
  ["mkdir(path, options)", 1],
])("the check for recursive mkdir judges %s", (text, count) => {
  expect([...recursiveMkdirs(parseSync("a.ts", text).program.body)]).toHaveLength(count);
});

test("a file over 600 lines explains itself in its first comment", () => {
  const silent = sources
    .filter(({ text }) => text.split("\n").length > 600 && !/^\s*(?:\/\/|\/\*)/.test(text))
    .map((s) => s.path);
  expect(silent).toEqual([]);
});

test("no source exports a default", () => {
  const defaults = sources
    .filter((source) => source.program.body.some((node) => node.type === "ExportDefaultDeclaration"))
    .map((s) => s.path);
  expect(defaults).toEqual([]);
});

test("no doc comment stands before another one: the first would belong to nothing", () => {
  const found = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/\*\/\n[ \t]*\/\*\*/g)].map(
      ({ index }) => `${path}:${text.slice(0, index).split("\n").length} has a doc comment of nothing`,
    ),
  );
  expect(found).toEqual([]);
});

/** A drawing, a table, or a word for a tool: it cannot be wrapped. */
const isDrawn = (line: string): boolean =>
  /\S {2,}\S|\*? \| |oxlint-/.test(line.replace(/^\s*(?:\/\/|\/?\*+)\s*/, "x "));

test("comments fit 120 columns, as code does", () => {
  const long = sources.flatMap(({ path, text }) =>
    text
      .split("\n")
      .flatMap((line, at) =>
        line.length > 120 && /^\s*(?:\/\/|\/?\*)/.test(line) && !isDrawn(line) ? [`${path}:${at + 1}`] : [],
      ),
  );
  expect(long).toEqual([]);
});
