import { parseSync } from "oxc-parser";
import { expect, test } from "vitest";
import { bannedGlobals } from "./rules.ts";
import { readSource, sourceFiles, walk } from "./sources.ts";

const isTest = (path: string) => /\.(?:test|contract)\.ts$/.test(path) || path.includes("/testing/");
const sources = sourceFiles("src")
  .filter((path) => !isTest(path))
  .map(readSource);

interface Mention {
  readonly name: string;
  readonly start: number;
}

/** Member expressions, calls and identifiers of a syntax tree, as `Date.now`, `new Date()`, `console`, with their offsets. */
function mentions(tree: unknown): readonly Mention[] {
  const found: Mention[] = [];
  const visit = (item: Readonly<Record<string, unknown>>): boolean => {
    const { type } = item;
    const start = Number(item["start"] ?? 0);
    if (type === "MemberExpression" && item["computed"] === false) {
      found.push({ name: `${nameOf(item["object"])}.${nameOf(item["property"])}`, start });
      walk(item["object"], visit);
      return false;
    }
    if (type === "Property") {
      walk(item["value"], visit);
      return false;
    }
    if (
      type === "NewExpression" &&
      nameOf(item["callee"]) === "Date" &&
      (item["arguments"] as readonly unknown[]).length === 0
    )
      found.push({ name: "new Date()", start });
    if (type === "CallExpression" || type === "Identifier") found.push({ name: nameOf(item["callee"] ?? item), start });
    return true;
  };
  walk(tree, visit);
  return found;
}

const nameOf = (node: unknown): string => {
  const named = node as { type?: string; name?: string } | null;
  return named?.type === "Identifier" ? (named.name ?? "") : "";
};

test("time, chance, the environment and the console are reached only in their homes", () => {
  const found = sources.flatMap((source) =>
    mentions(source.program.body).flatMap(({ name, start }) => {
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
  const text = "const a = { console: Date.now() };\nprocess.env.HOME;\nnew Date();";
  expect(mentions(parseSync("a.ts", text).program.body).map(({ name }) => name)).toEqual(
    expect.arrayContaining(["Date.now", "process.env", "new Date()"]),
  );
  expect(mentions(parseSync("a.ts", text).program.body).map(({ name }) => name)).not.toContain("console");
});

/** Offsets of calls of any `mkdir` with options in which `recursive` is set, or may be: what is not written out cannot be judged. */
function recursiveMkdirs(tree: unknown): readonly number[] {
  const found: number[] = [];
  walk(tree, (item) => {
    if (item["type"] !== "CallExpression") return true;
    const callee = item["callee"] as { readonly property?: unknown };
    const [, options] = item["arguments"] as readonly Syntax[];
    if (/^mkdir(?:Sync)?$/.test(nameOf(callee.property ?? callee)) && options !== undefined && !isFlat(options))
      found.push(Number(item["start"] ?? 0));
    return true;
  });
  return found;
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
    recursiveMkdirs(program.body).map((start) => `${path}:${text.slice(0, start).split("\n").length}`),
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
  expect(recursiveMkdirs(parseSync("a.ts", text).program.body)).toHaveLength(count);
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
