import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readSource, root, sourceFiles } from "./sources.ts";

/** Who makes problems. */
const sources = ["src/lib/yaml", "src/kernel/command", "src/kernel/dialect", "src/dialects", "src/app/cli"]
  .flatMap(sourceFiles)
  .filter((path) => !/\.test\.ts$|\/testing\//.test(path))
  .map(readSource);

/** Where a reporter of problems takes the code. */
const codeArgument: Readonly<Record<string, number>> = { report: 1, error: 1, warn: 1, refuse: 1, fail: 0 };
const isCode = (text: string): boolean => /^[a-z]+(?:-[a-z]+)*$/.test(text);

/** The codes of problems in a syntax tree: given to a reporter, beside a severity, or listed in a record named `codes`. */
function* codesIn(node: unknown): Generator<string> {
  if (typeof node !== "object" || node === null) return;
  if (Array.isArray(node)) {
    for (const child of node) yield* codesIn(child);
    return;
  }
  const item = node as Readonly<Record<string, unknown>> & { readonly type?: string };
  if (item.type === "CallExpression") {
    const index = codeArgument[nameOf(item["callee"])];
    if (index !== undefined) yield* textsOf((item["arguments"] as unknown[])[index]).filter(isCode);
  }
  if (item.type === "ObjectExpression" && memberOf(item, "severity") !== undefined)
    yield* textsOf(memberOf(item, "code"));
  if (item.type === "VariableDeclarator" && nameOf(item["id"]) === "codes") {
    const { properties = [] } = item["init"] as { readonly properties?: readonly { readonly value?: unknown }[] };
    for (const { value } of properties) yield* textsOf(value);
  }
  for (const child of Object.values(item)) yield* codesIn(child);
}

/** The name of an identifier or of the last member of a path. */
const nameOf = (node: unknown): string => {
  const { name, property } = node as { readonly name?: string; readonly property?: { readonly name?: string } };
  return name ?? property?.name ?? "";
};

/** The texts an expression may be. */
function textsOf(node: unknown): readonly string[] {
  const { type, value, consequent, alternate } = (node ?? {}) as Readonly<Record<string, unknown>>;
  if (type === "ConditionalExpression") return [...textsOf(consequent), ...textsOf(alternate)];
  return type === "Literal" && typeof value === "string" ? [value] : [];
}

const memberOf = (object: Readonly<Record<string, unknown>>, name: string): unknown =>
  (object["properties"] as readonly { readonly key?: unknown; readonly value?: unknown }[]).find(
    ({ key }) => key !== undefined && nameOf(key) === name,
  )?.value;

test("every code of a problem has its line, and every line its code", () => {
  const used = new Set(sources.flatMap(({ program }) => [...codesIn(program.body)]));
  const page = readFileSync(`${root}docs/reference/problems.md`, "utf8");
  const told = [...page.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, code = ""]) => code);
  expect([...told].sort()).toEqual([...used].sort());
});
