import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Program, parseSync } from "oxc-parser";

export const root = fileURLToPath(new URL("../../", import.meta.url));

/** One TypeScript source with its text and syntax tree. `path` is relative to the repository. */
export interface Source {
  readonly path: string;
  readonly text: string;
  readonly program: Program;
  readonly imports: readonly Import[];
}

export interface Import {
  readonly specifier: string;
  readonly line: number;
  readonly typeOnly: boolean;
  readonly dynamic: boolean;
}

/** A TypeScript source that somebody has written: declarations stand beside generated code only, and say how they were made in line one. */
const isWritten = (path: string): boolean => /\.tsx?$/.test(path) && !path.endsWith(".d.ts");

/** The TypeScript files below `folder` on disk, in byte order. */
export const sourceFiles = (folder: string): string[] =>
  readdirSync(`${root}${folder}`, { recursive: true, encoding: "utf8" })
    .filter(isWritten)
    .map((path) => `${folder}/${path}`)
    .sort();

/** The TypeScript files below `folder` that git tracks: what a check must have seen at least. */
export const trackedFiles = (folder: string): string[] =>
  execFileSync("git", ["ls-files", folder], { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 })
    .split("\n")
    .filter((path) => isWritten(path) && existsSync(`${root}${path}`));

/** `program` is decoded where it is first looked at, which costs more than to parse it. */
export function readSource(path: string): Source {
  const text = readFileSync(`${root}${path}`, "utf8");
  const parsed = parseSync(path, text, { sourceType: "module" });
  const fatal = parsed.errors[0];
  if (fatal !== undefined) throw new Error(`${path}: ${fatal.message}`);
  return {
    path,
    text,
    get program() {
      return parsed.program;
    },
    imports: importsOf(parsed.module, text),
  };
}

/** Shows every node of a syntax tree, parents first; `visit` returns whether it also wants what is in the node. */
export function walk(node: unknown, visit: (node: Readonly<Record<string, unknown>>) => boolean): void {
  if (typeof node !== "object" || node === null) return;
  if (Array.isArray(node)) {
    for (const child of node) walk(child, visit);
    return;
  }
  const item = node as Readonly<Record<string, unknown>>;
  if (visit(item)) for (const key in item) walk(item[key], visit);
}

type ModuleRecord = ReturnType<typeof parseSync>["module"];

function importsOf(module: ModuleRecord, text: string): Import[] {
  const lineOf = (offset: number) => text.slice(0, offset).split("\n").length;
  const fixed = module.staticImports.map((found) => ({
    specifier: found.moduleRequest.value,
    line: lineOf(found.start),
    typeOnly: found.entries.length > 0 && found.entries.every((entry) => entry.isType),
    dynamic: false,
  }));
  const reexported = module.staticExports.flatMap((found) =>
    found.entries.flatMap((entry) =>
      entry.moduleRequest
        ? [{ specifier: entry.moduleRequest.value, line: lineOf(found.start), typeOnly: entry.isType, dynamic: false }]
        : [],
    ),
  );
  const dynamic = module.dynamicImports.map((found) => ({
    specifier: text.slice(found.moduleRequest.start, found.moduleRequest.end).replace(/^["'`]|["'`]$/g, ""),
    line: lineOf(found.start),
    typeOnly: false,
    dynamic: true,
  }));
  return [...fixed, ...reexported, ...dynamic];
}
