import { distinctWriters, type KubeObject, type Stored, writersOf } from "#kernel/model/index.ts";
import type { CuePackages } from "#kernel/template/index.ts";
import { Package } from "../kinds.ts";
import type { Definition } from "./definition.ts";

// Package objects are what templates import beside the shipped packages. Whoever writes one decides what its users do,
// and so counts as a writer of their definitions.

const importPattern = /^[ \t]*import\s+(?:\(([^)]*)\)|([^\n(]+))/gm;

const importsIn = (text: string): readonly string[] =>
  [...text.matchAll(importPattern)].flatMap(([found]) =>
    [...found.matchAll(/"([^":]+)(?::[^"]*)?"/g)].map(([, path = ""]) => path),
  );

/** The files of a package as one. */
function sourceOf({ spec: { templates } }: Package): string {
  const files = Object.keys(templates)
    .toSorted()
    .map((name) => templates[name] ?? "");
  if (files.length === 1) return files[0] ?? "";
  let clause = "";
  const imports = new Set<string>();
  const bodies = files.map((text) =>
    text
      .replace(/^[ \t]*package\s+\w+.*$/m, (found) => {
        clause = found;
        return "";
      })
      .replace(importPattern, (_found, many: string | undefined, one: string | undefined) => {
        for (const line of (many ?? one ?? "").split(/[\n,]/)) if (line.trim() !== "") imports.add(line.trim());
        return "";
      }),
  );
  return [clause, ...[...imports].map((line) => `import ${line}`), ...bodies].join("\n");
}

/** The definition with what it imports, as far as there are Packages, and what these import. */
export function withPackages(definition: Definition, packages: readonly Stored<Package>[]): Definition {
  if (packages.length === 0) return definition;
  const found = new Map<string, Stored<Package>>();
  const sources: Record<string, string> = {};
  const visit = (text: string): void => {
    for (const path of importsIn(text)) {
      const one = found.has(path) ? undefined : packages.find(({ spec }) => spec.path === path);
      if (one === undefined) continue;
      found.set(path, one);
      const source = (sources[path] = sourceOf(one));
      visit(source);
    }
  };
  visit(definition.template);
  if (found.size === 0) return definition;
  const used = [...found.values()];
  const providers = used.flatMap(({ metadata: { name }, spec: { provider } }) =>
    provider === undefined ? [] : [[name, provider] as const],
  );
  return {
    ...definition,
    imports: { sources, providers: Object.fromEntries(providers) },
    writers: distinctWriters([...(definition.writers ?? []), ...used.flatMap((one) => writersOf(one))]),
  };
}

/** What a text without a definition may import. */
export const packagesFor = (template: string, objects: readonly KubeObject[]): CuePackages | undefined =>
  withPackages(
    { type: "component", name: "", template, spec: {}, annotations: {} },
    // They need no identity to be found.
    objects.filter(({ kind }) => kind === Package.kind) as unknown as readonly Stored<Package>[],
  ).imports?.sources;
