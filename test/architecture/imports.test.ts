import { posix } from "node:path";
import { expect, test } from "vitest";
import { doors, homes, rules } from "./rules.ts";
import { type Import, readSource, type Source, sourceFiles, trackedFiles } from "./sources.ts";

const sources = sourceFiles("src").map(readSource);
const isTest = (path: string) => /\.(?:test|prop\.test|contract)\.ts$/.test(path) || path.includes("/testing/");

/** The repository path an import names, or undefined for a package. */
function target(source: Source, { specifier }: Import): string | undefined {
  if (specifier.startsWith(".")) return posix.join(posix.dirname(source.path), specifier);
  if (specifier.startsWith("#test/")) return specifier.slice(1);
  return specifier.startsWith("#") ? `src/${specifier.slice(1)}` : undefined;
}

const within = (path: string, folder: string) =>
  path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
const ruleFor = (path: string) =>
  rules.filter((rule) => within(path, rule.folder)).sort((a, b) => b.folder.length - a.folder.length)[0];

/** Why this import is not allowed, or undefined. */
function objection(source: Source, found: Import): string | undefined {
  const path = target(source, found);
  if (path === undefined) return packageObjection(source, found);
  if (isTest(source.path) && path.startsWith("test/")) return undefined;
  const rule = ruleFor(source.path);
  if (rule === undefined) return "this folder has no import rule; add one to rules.ts";
  if (!within(path, rule.folder)) {
    const allowed =
      rule.mayImport.some((folder) => within(path, folder)) ||
      (found.typeOnly && rule.types?.some((folder) => within(path, folder))) ||
      (found.dynamic && rule.dynamic?.some((folder) => within(path, folder)));
    if (!allowed) return `${rule.because}; it may not import ${path}`;
  }
  return siblingDialect(source.path, path) ?? doorObjection(source.path, path);
}

function siblingDialect(from: string, to: string): string | undefined {
  const dialectOf = (path: string) => /^src\/dialects\/([^/]+)\//.exec(path)?.[1];
  const [mine, theirs] = [dialectOf(from), dialectOf(to)];
  return mine !== undefined && theirs !== undefined && mine !== theirs ? "dialects do not know each other" : undefined;
}

function doorObjection(from: string, to: string): string | undefined {
  const folder = [...ancestors(to)].find(
    (candidate) => doors.some((door) => door.test(candidate)) && !within(from, candidate),
  );
  if (folder === undefined) return undefined;
  const entrance = new RegExp(`^${folder}/index(?:\\.node)?\\.tsx?$`);
  // A dialect's own folder has a door too, so the outer one is passed by naming the inner one's index.
  // Tests also enter by the door to a part's test doubles.
  const testDoor = isTest(from) && to === `${folder}/testing/index.ts`;
  return testDoor || entrance.test(to) || /^src\/dialects\/[^/]+\/index\.ts$/.test(to)
    ? undefined
    : `${folder} is entered through its index.ts only`;
}

function* ancestors(path: string): Generator<string> {
  for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) yield path.slice(0, at);
}

function packageObjection({ path }: Source, { specifier }: Import): string | undefined {
  if (isTest(path)) return undefined;
  if (specifier.startsWith("node:")) {
    const pure = within(path, "src/engine") || (within(path, "src/lib/base") && !path.endsWith(".node.ts"));
    return pure ? "node: modules are for files named *.node.ts in lib/base, and never for the engine" : undefined;
  }
  const name = specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
  const home = Object.hasOwn(homes, name) ? homes[name] : undefined;
  return home === undefined || within(path, home) ? undefined : `${name} belongs to ${home} alone`;
}

test("the check has seen every source file that git tracks", () => {
  const seen = new Set(sources.map((source) => source.path));
  expect(trackedFiles("src").filter((path) => !seen.has(path))).toEqual([]);
  expect(trackedFiles("src").length).toBeGreaterThan(15);
});

test("every folder imports only what its floor allows", () => {
  const objections = sources.flatMap((source) =>
    source.imports.flatMap((found) => {
      const reason = objection(source, found);
      return reason === undefined ? [] : [`${source.path}:${found.line} imports ${found.specifier}: ${reason}`];
    }),
  );
  expect(objections).toEqual([]);
});

/** Files that import each other in a circle, imports of types included: each strongly connected part of more than one file. */
function cycles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const found: string[][] = [];
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const visit = (file: string): void => {
    const own = index.size;
    index.set(file, own);
    low.set(file, own);
    stack.push(file);
    for (const next of imports.get(file) ?? []) {
      if (!index.has(next)) visit(next);
      if (stack.includes(next)) low.set(file, Math.min(low.get(file) ?? own, low.get(next) ?? own));
    }
    if (low.get(file) !== own) return;
    const part = stack.splice(stack.indexOf(file));
    if (part.length > 1) found.push(part.sort());
  };
  for (const file of imports.keys()) if (!index.has(file)) visit(file);
  return found;
}

test("no files import each other in a circle, imports of types included", () => {
  const graph = new Map(
    sources
      .filter(({ path }) => !isTest(path))
      .map((source) => [source.path, source.imports.flatMap((found) => target(source, found) ?? [])]),
  );
  expect(cycles(graph)).toEqual([]);
});

test("the search for circles finds them", () => {
  const graph = new Map([
    ["a", ["b"]],
    ["b", ["c", "d"]],
    ["c", ["a"]],
    ["d", []],
  ]);
  expect(cycles(graph)).toEqual([["a", "b", "c"]]);
});

test("no import climbs three folders", () => {
  const climbing = sources.flatMap((s) =>
    s.imports.filter((i) => i.specifier.startsWith("../../../")).map((i) => `${s.path}:${i.line}`),
  );
  expect(climbing).toEqual([]);
});

test("the rules object to what they forbid", () => {
  const probe = (path: string, specifier: string) =>
    objection({ ...(sources[0] as Source), path }, { specifier, line: 1, typeOnly: false, dynamic: false });
  expect(probe("src/engine/x.ts", "#lib/base/index.ts")).toContain("imports nothing");
  expect(probe("src/dialects/vela/x.ts", "#dialects/wharf/index.ts")).toBe("dialects do not know each other");
  expect(probe("src/kernel/workloads/x.ts", "#kernel/apiserver/index.ts")).toContain("do not know each other");
  expect(probe("src/app/cli/x.ts", "#app/server/index.ts")).toContain("on demand");
  expect(probe("src/kernel/kit/x.ts", "#lib/base/clock.ts")).toContain("index.ts only");
  expect(probe("src/kernel/kit/x.ts", "yaml")).toContain("belongs to src/lib/yaml");
});
