// The page of the kinds, from their schemas.
import { code, generatedFrom, table } from "./markdown.mjs";

const innerOf = ({ items, additionalProperties }) =>
  items ?? (typeof additionalProperties === "object" ? additionalProperties : undefined);

function typeOf(schema) {
  if (schema.enum !== undefined) return schema.enum.map(code).join(", ");
  const inner = innerOf(schema);
  if (inner !== undefined) return `${schema.items ? "list" : "map"} of ${typeOf(inner)}${inner.enum ? "" : "s"}`;
  if (schema.type === undefined) return "any value";
  return schema.format === "date-time" ? "time" : schema.type;
}

const limitsOf = ({ minimum, maximum, minLength, pattern }) => [
  ...(minimum === undefined ? [] : [`at least ${minimum}`]),
  ...(maximum === undefined ? [] : [`at most ${maximum}`]),
  ...(minLength === undefined ? [] : [minLength === 1 ? "not empty" : `at least ${minLength} long`]),
  ...(pattern === undefined ? [] : [`matches ${pattern}`]),
];

/** The anchor that GitHub makes for a heading. */
const anchorOf = (heading) =>
  heading
    .toLowerCase()
    .replaceAll(" ", "-")
    .replace(/[^\w-]/g, "");

/** Headings are unique on a page: they name the kind where several kinds have the same path. */
const headingOf = (path, of) => (of === "" ? path : `${path} of ${of}`);

const isRefused = ([, { description = "" }]) => description.endsWith("Refused by this version.");

/** The object in a field, list or map, and the path of its fields. */
function objectIn(path, name, member) {
  const object = member.properties === undefined ? innerOf(member) : member;
  if (object?.properties === undefined) return undefined;
  const suffix = member.items !== undefined ? "[]" : object === member ? "" : ".KEY";
  return { object, path: `${path}.${name}${suffix}` };
}

function rowOf(schema, [name, member], see) {
  const type = [typeOf(member), ...limitsOf(member), ...(schema.required?.includes(name) ? ["required"] : [])];
  const link = see === undefined ? "" : `See [${see.path}](#${anchorOf(see.heading)}).`;
  const initial = member.default === undefined ? "" : code(JSON.stringify(member.default));
  return [code(name), type.join(", "), initial, [member.description, link].filter(Boolean).join(" ")];
}

/** One table for each object, at its first place. */
function sections(schema, path, homes, of = "") {
  const members = Object.entries(schema.properties);
  const own = [];
  const rows = members
    .filter((member) => !isRefused(member))
    .map(([name, member]) => {
      const found = objectIn(path, name, member);
      if (found !== undefined && !homes.has(found.object)) {
        homes.set(found.object, { path: found.path, heading: headingOf(found.path, of) });
        own.push(found);
      }
      return rowOf(schema, [name, member], homes.get(found?.object));
    });
  const refused = members.filter(isRefused).map(([name]) => code(name));
  return [
    `### ${headingOf(path, of)}`,
    ...(schema.description === undefined ? [] : ["", schema.description]),
    ...table(["Field", "Type", "Default", "Meaning"], rows),
    ...(refused.length === 0 ? [] : [`Known and refused by this version: ${refused.join(", ")}.`, ""]),
    ...own.flatMap((found) => sections(found.object, found.path, homes, of)),
  ];
}

function kindHead({ kind, group, version, plural, shortNames = [], namespaced, columns, schema }, title = kind) {
  const shown = columns.map(({ name, jsonPath, priority }) => [
    name,
    `${code(jsonPath)}${priority ? ", with `-o wide`" : ""}`,
  ]);
  return [
    `## ${title}`,
    "",
    `${schema.description} ${code(`${group}/${version}`)}, ${namespaced ? "namespaced" : "cluster-wide"};`,
    `${code(plural)}${shortNames.length === 0 ? "" : `, for short ${shortNames.map(code).join(", ")}`}.`,
    ...table(["Column", "Shows"], shown),
  ];
}

/** `homes` are objects whose tables come earlier. */
function kindSection(kind, homes = new Map(), of = "") {
  const { schema } = kind;
  return [
    ...kindHead(kind, of || kind.kind),
    ...sections(schema.properties.spec, "spec", homes, of),
    ...(schema.properties.status === undefined ? [] : sections(schema.properties.status, "status", homes, of)),
  ];
}

/** Both versions of each kind. */
export function tinkerbellPage({
  Agent,
  Hardware,
  HardwareV2,
  Osie,
  Template,
  TemplateV2,
  TinkerbellWorkflow,
  WorkflowV2,
}) {
  const versions = [Hardware, HardwareV2, Template, TemplateV2, TinkerbellWorkflow, WorkflowV2];
  const homes = new Map();
  const lines = [
    generatedFrom("src/dialects/tinkerbell/kinds.ts"),
    "# Hardware, Template, Workflow, OSIE and Agent of Tinkerbell",
    "",
    "`kubectl explain hardware.spec --api-version=tinkerbell.org/v1alpha1` prints the same from a running control plane. `KEY` stands",
    "for any key, `[]` for any item. Fields that are not marked as required are optional; fields that are not listed are preserved.",
    "",
    "There is no conversion between the versions: a document can be read in both, always with its original fields, and changed in its own.",
    "[The guide](../guides/tinkerbell.md) shows how they are used.",
    "",
    ...versions.flatMap((kind) => kindSection(kind, homes, `${kind.kind} ${kind.version}`)),
    ...kindHead(Osie),
    ...kindSection(Agent, homes, "Agent"),
  ];
  return `${lines.join("\n").trimEnd()}\n`;
}

export function workflowPage({
  Workflow,
  WorkflowTemplate,
  ScheduledWorkflow,
  ConcurrencyLimit,
  RunAction,
  CacheEntry,
}) {
  const lines = [
    generatedFrom("src/dialects/workflow/kinds.ts"),
    "# Workflow, WorkflowTemplate, ScheduledWorkflow, ConcurrencyLimit, RunAction and CacheEntry",
    "",
    "`kubectl explain workflow.spec.steps` prints the same from a running control plane. `KEY` stands for any key, `[]`",
    "for any item. Fields that are not marked as required are optional.",
    "",
    ...kindSection(Workflow),
    ...kindHead(WorkflowTemplate),
    "Its `spec` is that of a Workflow, without `arguments`, `suspend` and `templateRef`.",
    "",
    ...kindSection(ScheduledWorkflow, new Map([[Workflow.schema.properties.spec, { path: "spec", heading: "spec" }]])),
    ...kindSection(ConcurrencyLimit),
    ...kindSection(RunAction),
    ...kindSection(CacheEntry),
  ];
  return `${lines.join("\n").trimEnd()}\n`;
}

export function wharfPage({ Project, Build, Worker }) {
  const lines = [
    generatedFrom("src/dialects/wharf/kinds.ts"),
    "# Project, Build and Worker of Wharf",
    "",
    "`kubectl explain build.spec` prints the same from a running control plane. `KEY` stands for any key, `[]`",
    "for any item. Fields that are not marked as required are optional.",
    "",
    ...kindSection(Project, new Map(), "Project"),
    ...kindSection(Build, new Map(), "Build"),
    ...kindSection(Worker, new Map(), "Worker"),
  ];
  return `${lines.join("\n").trimEnd()}\n`;
}

/** Kubernetes' own kinds and their descriptions, without reviews. */
export function kubernetesPage({ builtInKinds, describeDefinition }) {
  const rows = builtInKinds
    .filter(({ isReview }) => !isReview)
    .map(({ type, definition }) => [
      type.kind,
      code([type.group, type.version].filter(Boolean).join("/")),
      (type.shortNames ?? []).map(code).join(", "),
      describeDefinition(definition, {}).description ?? "",
    ]);
  const lines = [
    generatedFrom("src/kernel/apiserver/kinds/built-in-kinds.ts"),
    "# Kubernetes' kinds on the embedded server",
    "",
    'Kinds marked "Stored, not acted upon" exist so that documents can be applied as a whole; every write of one returns a warning.',
    "Other kinds come from CustomResourceDefinitions.",
    ...table(["Kind", "API version", "Short names", "Meaning"], rows),
  ];
  return `${lines.join("\n").trimEnd()}\n`;
}
