import type { KubeObject } from "#kernel/model/index.ts";
import { UsageError } from "#kernel/command/index.ts";

/** How objects are printed: as the server's table, or as the objects themselves. */
export type Format =
  | { readonly kind: "table"; readonly wide: boolean }
  | { readonly kind: "json" | "yaml" | "name" }
  | { readonly kind: "jsonpath"; readonly template: string };

export const formatHelp = "table, wide, json, yaml, name or jsonpath=TEMPLATE";

/** Reads the value of `-o`. A `jsonpath=` template is compiled when it is used. */
export function parseFormat(text: string): Format {
  if (text === "table" || text === "wide") return { kind: "table", wide: text === "wide" };
  if (text === "json" || text === "yaml" || text === "name") return { kind: text };
  const template = /^jsonpath=(.+)$/s.exec(text)?.[1];
  if (template === undefined) throw new UsageError(`no output format "${text}": expected ${formatHelp}`);
  return { kind: "jsonpath", template };
}

/** Formats one object, or a `v1 List`. With `single`, the first object is printed by itself. */
export async function formatObjects(
  objects: readonly KubeObject[],
  single: boolean,
  format: Exclude<Format, { kind: "table" }>,
): Promise<string> {
  const first = objects[0];
  const whole =
    single && first !== undefined ? first : { apiVersion: "v1", kind: "List", metadata: {}, items: objects };
  switch (format.kind) {
    case "json":
      return `${JSON.stringify(whole, withoutManagers, 2)}\n`;
    case "yaml": {
      const { writeYaml } = await import("#lib/yaml/index.ts");
      return writeYaml(JSON.parse(JSON.stringify(whole, withoutManagers)));
    }
    case "name":
      return objects.map((object) => `${qualifiedName(object)}\n`).join("");
    case "jsonpath":
      return await formatTemplate(whole, format.template);
  }
}

/** kubectl also omits managedFields from json and yaml. */
function withoutManagers(name: string, value: unknown): unknown {
  if (name !== "metadata" || typeof value !== "object" || value === null || !("managedFields" in value)) return value;
  const { managedFields: _owners, ...rest } = value;
  return rest;
}

function qualifiedName({ apiVersion, kind, metadata }: KubeObject): string {
  const group = apiVersion.includes("/") ? `.${apiVersion.slice(0, apiVersion.indexOf("/"))}` : "";
  return `${kind.toLowerCase()}${group}/${metadata.name ?? ""}`;
}

/** Missing values are empty, as in kubectl. A line end is added. */
async function formatTemplate(whole: unknown, template: string): Promise<string> {
  const { compileJsonPathTemplate } = await import("#lib/json/index.ts");
  const compiled = compileJsonPathTemplate(template);
  if (!compiled.ok) throw new UsageError(`the jsonpath template is not valid: ${compiled.error.message}`);
  const text = compiled.value.render(JSON.parse(JSON.stringify(whole)));
  return `${text.ok ? text.value : ""}\n`;
}
