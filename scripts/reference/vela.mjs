// The page of the shipped definitions of the vela dialect, from their CUE files.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { common, cueTree } from "../build.mjs";
import { code, generatedFrom, table } from "./markdown.mjs";

const titles = { component: "Components", trait: "Traits", policy: "Policies", "workflow-step": "Workflow steps" };

const builtIn = "Built in: its CUE has the parameter only.";

/** Deeper members are left out: `slipway def schema` shows them all. */
const maxDepth = 2;

export async function velaDefinitionsPage(sources, root) {
  const folder = await mkdtemp(join(tmpdir(), "slipway-reference-"));
  const program = join(folder, "thread.cjs");
  await build({
    ...common,
    entryPoints: ["src/kernel/template/thread-program.ts"],
    outfile: program,
    format: "cjs",
    write: true,
  });
  const artifact = join(root, "go/built/template.wasm.br");
  const host = new sources.TemplateHost({ program, artifact, clock: sources.systemClock });
  try {
    const packages = await cueTree("src/dialects/vela/packages");
    const cue = sources.createCue({ templates: host, packages, budgetMs: 60_000 });
    return await pageOf(cue, sources, root);
  } finally {
    await host.close();
    await rm(folder, { recursive: true });
  }
}

async function pageOf(cue, { readAuthored }, root) {
  const texts = await cueTree("src/dialects/vela/definitions/shipped");
  const { builtInTypes } = await factsOf(root);
  const sections = [];
  for (const [type, title] of Object.entries(titles)) {
    sections.push(`## ${title}`, "");
    for (const [path, text] of Object.entries(texts).filter(([path]) => path.startsWith(`${type}/`))) {
      const { name, header, template } = readAuthored(text, path);
      const schema = await cue.schema(template);
      if (!schema.ok) throw new Error(`${path}: ${schema.error.message}`);
      sections.push(...sectionOf(name, header, schema.value, builtInTypes.has(`${type}/${name}`)));
    }
  }
  return [
    generatedFrom("src/dialects/vela/definitions/shipped"),
    "# Vela definitions",
    "",
    "The types of components, traits, policies and workflow steps that come with Slipway. Definitions of the same name in the",
    "namespace of the application or in `vela-system` replace them, except where they are built in. Nested fields are shown",
    `down to level ${maxDepth}; \`slipway def schema\` prints them all, and \`slipway def get NAME -o cue\` the definition itself.`,
    "",
    ...sections,
  ].join("\n");
}

/** `type/name` of the definitions that are built in. */
async function factsOf(root) {
  const text = await readFile(join(root, "src/dialects/vela/definitions/types.ts"), "utf8");
  const listed = /builtInTypes[^{]*= \{([^}]*)\}/.exec(text)?.[1] ?? "";
  const found = [...listed.matchAll(/"?([\w-]+)"?: \[([^\]]*)\]/g)].flatMap(([, type, names]) =>
    [...names.matchAll(/"([^"]+)"/g)].map(([, name]) => `${type}/${name}`),
  );
  return { builtInTypes: new Set(found) };
}

function sectionOf(name, { description, attributes = {}, labels = {} }, schema, isBuiltIn) {
  const kinds = attributes.appliesToWorkloads?.map(code).join(", ");
  const rows = rowsOf(schema, "", 1);
  return [
    `### ${name}`,
    "",
    `${description}.${labels.deprecated === "true" ? " Deprecated." : ""}${isBuiltIn ? ` ${builtIn}` : ""}`,
    ...(kinds === undefined ? [] : ["", `Applies to ${kinds}.`]),
    ...(rows.length === 0 ? [""] : table(["Parameter", "Type", "Default", "Meaning"], rows)),
  ];
}

function rowsOf(schema, prefix, depth) {
  if (depth === 1 && schema.properties === undefined && schema.description !== undefined)
    return [[code("KEY"), typeOf(schema.additionalProperties ?? {}), "", schema.description]];
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const path = `${prefix}${name}`;
    const type = [typeOf(member), ...(schema.required?.includes(name) ? ["required"] : [])].join(", ");
    const initial = member.default === undefined ? "" : code(JSON.stringify(member.default));
    const inner = member.items ?? member;
    const below =
      depth < maxDepth ? rowsOf(inner, `${path}${member.items === undefined ? "." : "[]."}`, depth + 1) : [];
    return [[code(path), type, initial, member.description ?? ""], ...below];
  });
}

function typeOf(schema) {
  if (schema.enum !== undefined) return schema.enum.map((each) => code(String(each))).join(", ");
  if (schema["x-kubernetes-int-or-string"]) return "integer or string";
  if (schema.items !== undefined) return `list of ${plural(typeOf(schema.items))}`;
  const values = schema.additionalProperties;
  if (schema.properties === undefined && typeof values === "object" && values.type !== undefined)
    return `map of ${plural(typeOf(values))}`;
  return schema.type ?? "any value";
}

const plural = (type) => (/^(string|integer|number|boolean|object)$/.test(type) ? `${type}s` : type);
