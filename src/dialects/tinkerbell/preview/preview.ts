import { inParallel, type Problem } from "#lib/base/index.ts";
import { type Kitchen, prepare, type PrepareFailure } from "../reconcile/prepare.ts";
import { defaultSettings } from "../settings.ts";
import type { Action } from "../state.ts";
import { placeOf } from "./places.ts";
import type { Subject } from "./subjects.ts";
import type { Prepared } from "../plan.ts";

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
      const known = found.get(key) ?? { problem, machines: [] };
      found.set(key, known);
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
