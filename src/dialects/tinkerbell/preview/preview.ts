import {
  type FieldPath,
  getOrAdd,
  inParallel,
  isJsonObject,
  type JsonValue,
  type Position,
  type Problem,
} from "#lib/base/index.ts";
import { type Kitchen, prepare, type PrepareFailure } from "../reconcile/prepare.ts";
import { defaultSettings } from "../settings.ts";
import type { Action } from "../state.ts";
import type { Subject } from "./subjects.ts";
import type { Prepared } from "../plan.ts";
import type { TemplateProblem } from "#kernel/template/index.ts";
import type { AnyTemplate } from "../reconcile/inputs.ts";
import type { Written } from "./sources.ts";

/** An action as an agent would get it. Times in seconds; empty members are absent. */
interface PreviewedAction extends Partial<Pick<Action, "cmd" | "network" | "pid">> {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly timeout?: number;
}

interface PreviewedTask {
  readonly name?: string;
  readonly agentID: string;
  readonly actions: readonly PreviewedAction[];
}

/** A rendered template for one machine. Without `tasks` the problems say why. */
export interface Preview {
  readonly workflow?: string;
  readonly template: string;
  readonly hardware?: string;
  readonly timeout?: number;
  readonly tasks?: readonly PreviewedTask[];
  readonly problems: readonly Problem[];
}

const codes: Readonly<Record<string, string>> = {
  syntax: "template-syntax",
  execution: "template-execution",
  yaml: "template-yaml",
  hardware: "hardware-invalid",
  invalid: "template-invalid",
  workflow: "workflow-invalid",
};
const anyCode = "template-invalid";

/** Renders every subject, in order, without storing anything. Rejects only for a broken installation. */
export async function previewAll(
  subjects: readonly Subject[],
  kitchen: Pick<Kitchen, "renderer" | "signal">,
): Promise<readonly Preview[]> {
  const previews: Preview[] = [];
  const run = async ([at, subject]: readonly [number, Subject]): Promise<void> => {
    previews[at] = await preview(subject, kitchen);
  };
  // Bounded, because the renderer's queue is.
  await inParallel([...subjects.entries()], run, 8);
  return previews;
}

async function preview(subject: Subject, kitchen: Pick<Kitchen, "renderer" | "signal">): Promise<Preview> {
  const { template, hardware, workflow, written } = subject;
  let ids = 0;
  const newId = (): string => `${(ids += 1)}`;
  const { maxRenderBytes: maxBytes } = defaultSettings;
  const prepared = await prepare({ workflow, template: template.object, hardware }, { ...kitchen, maxBytes, newId });
  const head = {
    ...(written !== undefined ? { workflow: workflow.metadata.name ?? "" } : {}),
    template: template.object.metadata.name ?? "",
    ...(hardware === undefined ? {} : { hardware: hardware.metadata.name ?? "" }),
  };
  if (!prepared.ok) return { ...head, problems: problemsOf(subject, prepared.error) };
  const { timeout, ignored } = prepared.value;
  const { position } = placeOf(template, {});
  return {
    ...head,
    ...(timeout === 0 ? {} : { timeout: timeout / 1000 }),
    tasks: tasksOf(prepared.value),
    problems: ignored.map((message) => ({ severity: "warning", code: "field-ignored", path: "", message, position })),
  };
}

function problemsOf(
  { template, written }: Subject,
  { message, problems = [], rendered }: PrepareFailure,
): readonly Problem[] {
  const found = problems.length === 0 ? [{ code: anyCode, message }] : problems;
  return found.map(({ code, message: told, ...where }) => {
    const ofWorkflow = code === codes["workflow"] ? written?.positionOf((where.path ?? "").split(".")) : undefined;
    const { position, inText } = ofWorkflow === undefined ? placeOf(template, where) : { position: ofWorkflow };
    const hint = [...(inText === undefined ? [] : [inText]), ...renderedHint(told, rendered)].join("; ");
    const known = Object.values(codes).find((one) => one === code) ?? anyCode;
    return {
      severity: "error",
      code: known,
      path: where.path ?? "",
      message: told,
      position,
      ...(hint === "" ? {} : { hint }),
    };
  });
}

/** Adds the rendered line that a YAML error refers to, because the author has not seen the rendered text. */
function renderedHint(message: string, rendered: string | undefined): readonly string[] {
  const line = Number(/\bline (\d+):/.exec(message)?.[1]);
  const shown = rendered?.split("\n")[line - 1];
  return shown === undefined ? [] : [`line ${line} of the rendered text is ${JSON.stringify(shown.slice(0, 200))}`];
}

/** Tasks without actions are sent to no agent. */
function tasksOf({ actions }: Prepared): readonly PreviewedTask[] {
  const tasks = new Map(actions.map(({ task }) => [task.id, task]));
  return [...tasks.values()].map(({ id, name, agentID }) => ({
    ...(name === "" ? {} : { name }),
    agentID,
    actions: actions.filter(({ task }) => task.id === id).map(actionOf),
  }));
}

const actionOf = ({ name, image, cmd, args, env, volumes, timeout, pid, network }: Action): PreviewedAction => ({
  name,
  image,
  ...(cmd === undefined ? {} : { cmd }),
  ...(args.length === 0 ? {} : { args }),
  ...(Object.keys(env).length === 0 ? {} : { env }),
  ...(volumes.length === 0 ? {} : { volumes }),
  ...(timeout === 0 ? {} : { timeout: timeout / 1000 }),
  ...(pid === undefined ? {} : { pid }),
  ...(network === undefined ? {} : { network }),
});

/** Merges equal problems of several machines into one that names them. */
export function problemsTogether(previews: readonly Preview[]): readonly Problem[] {
  const found = new Map<string, { readonly problem: Problem; readonly machines: string[] }>();
  for (const { problems, hardware } of previews)
    for (const problem of problems) {
      const key = JSON.stringify(problem);
      const known = getOrAdd(found, key, () => ({ problem, machines: [] }));
      if (hardware !== undefined) known.machines.push(hardware);
    }
  return [...found.values()].map(({ problem, machines }) => {
    if (machines.length === 0) return problem;
    const hint = [...(problem.hint === undefined ? [] : [problem.hint]), `hardware ${listed(machines)}`].join("; ");
    return { ...problem, hint };
  });
}

const mostNames = 10;

const listed = (names: readonly string[]): string =>
  names.length <= mostNames
    ? names.join(", ")
    : `${names.slice(0, mostNames).join(", ")} and ${names.length - mostNames} more`;

/** A place in a file; `inText` is the place in the template's text if the one in the file is uncertain. */
interface TemplatePlace {
  readonly position: Position;
  readonly inText?: string;
}

/** Finds a problem in the template's file: exact if the file's line equals the text's, else where the text begins. */
function placeOf(
  written: Written<AnyTemplate>,
  { path, line, column }: Pick<TemplateProblem, "column" | "line" | "path">,
): TemplatePlace {
  const fields = path === undefined ? ["spec", "data"] : fieldsOf(path, { spec: written.object.spec ?? {} });
  const start = written.positionOf(fields);
  if (line === undefined || line < 1) return { position: start };
  const isWhole = written.isBare || (written.lines.length === 0 && path === undefined);
  if (isWhole) return { position: { ...start, line, column: column ?? 1 } };
  const text = valueAt({ spec: written.object.spec ?? {} }, fields);
  const wanted = typeof text === "string" ? text.split("\n")[line - 1] : undefined;
  const found = wanted === undefined ? undefined : lineIn(written.lines, start, wanted, line);
  if (found === undefined) return { position: start, inText: `line ${line} of the text` };
  return {
    position: { ...start, line: found.line, column: found.before + (column ?? (wanted ?? "").search(/\S|$/) + 1) },
  };
}

function lineIn(
  lines: readonly string[],
  start: Position,
  wanted: string,
  line: number,
): { readonly line: number; readonly before: number } | undefined {
  const first = lines[start.line - 1] ?? "";
  // On the line of its key, with or without a quotation mark.
  const inline = [start.column - 1, start.column].find((at) => line === 1 && first.startsWith(wanted, at));
  if (inline !== undefined) return { line: start.line, before: inline };
  // In a block below its key.
  const shown = lines[start.line - 1 + line];
  const before = shown === undefined ? -1 : shown.length - wanted.length;
  const isShown = shown?.endsWith(wanted) === true && shown.slice(0, before).trim() === "";
  return isShown ? { line: start.line + line, before } : undefined;
}

/** Fields of a path like `spec.env.A[0]`; names may contain dots. */
function fieldsOf(path: string, root: JsonValue): FieldPath {
  const fields: (string | number)[] = [];
  let value: JsonValue | undefined = root;
  for (let rest = path; rest !== ""; ) {
    const index = /^\[(\d+)\]/.exec(rest);
    const member = rest.startsWith(".") ? rest.slice(1) : rest;
    const name: string | undefined = index === null ? nameIn(value, member) : undefined;
    if (index === null && name === undefined) break;
    fields.push(name ?? Number(index?.[1]));
    rest = name === undefined ? rest.slice(index?.[0].length) : member.slice(name.length);
    value = valueAt(value, fields.slice(-1));
  }
  return fields;
}

const nameIn = (value: JsonValue | undefined, rest: string): string | undefined =>
  Object.keys(isJsonObject(value) ? value : {})
    .filter((name) => rest.startsWith(name) && /^(?:$|[.[])/.test(rest.slice(name.length)))
    .toSorted((a, b) => b.length - a.length)[0];

function valueAt(root: JsonValue | undefined, fields: FieldPath): JsonValue | undefined {
  let value = root;
  for (const field of fields) {
    if (typeof field === "string") value = isJsonObject(value) ? value[field] : undefined;
    else value = Array.isArray(value) ? (value as readonly JsonValue[])[field] : undefined;
  }
  return value;
}
