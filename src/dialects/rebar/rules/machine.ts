import { err, jsonEquals, type JsonObject, ok, type Result } from "#lib/base/index.ts";
import { type ModelError, refusal, unsoundObject } from "../failure.ts";
import type { Machine } from "../objects.ts";
import type { World } from "../world.ts";
import { availability, bootEnvUseErrors, stageUseErrors, workflowUseErrors } from "../model/availability.ts";
import { machineFlags, withFlags } from "../model/flags.ts";
import { readObject } from "../model/read.ts";
import { syntaxErrors } from "../model/syntax.ts";
import {
  baseContext,
  contextAt,
  editErrors,
  expandPrerequisites,
  restartIndex,
  sameTexts,
  tasksOfWorkflow,
  windowsOf,
} from "./task-list.ts";

/** Generated values of a new machine. */
export interface MadeMachine {
  readonly uuid: string;
  /** 16 random URL-safe characters. */
  readonly secret: string;
  /** `?force=true`: creates a machine that is not available. */
  readonly isForced?: boolean;
}

export interface HowToChange {
  readonly isForced?: boolean;
  /** Claim `machines updateTaskList`: may move CurrentTask back. */
  readonly mayReposition?: boolean;
  /** A locked machine refuses changes by users, but not by its agent. */
  readonly isUser?: boolean;
}

const invalid = (machine: Machine, messages: readonly string[]): Result<never, ModelError> =>
  err(refusal(422, "ValidationError", "machines", machine.Uuid, ...new Set(messages)));

const prefixed = (machine: Machine, messages: readonly string[]): readonly string[] =>
  messages.map((message) => `${machine.Uuid}: ${message}`);

/** Creates a machine with defaults, in the first stage of its workflow, with all computed fields. */
export function createMachine(sent: JsonObject, world: World, made: MadeMachine): Result<Machine, ModelError> {
  const read = readObject("machines", sent);
  if (!read.ok) return read;
  const asked = withDefaults(read.value, world, made);
  const unsound = syntaxErrors("machines", asked, world);
  const entered = asked.Workflow === "" ? enterFirstStage(asked, world) : enterWorkflow(asked, world);
  const Tasks = entered.Tasks ?? [];
  const CurrentTask = Tasks.length === 0 ? 0 : -1;
  const machine = settled({ ...asked, ...entered, CurrentTask, Runnable: true }, undefined, world);
  const forbidden = onlyUnknownErrors(machine.BootEnv, world);
  if (unsound.length === 0 && (made.isForced === true || (machine.Available && forbidden.length === 0)))
    return ok(machine);
  // Errors that follow from an unusable workflow are left out.
  const isEntered = workflowUseErrors(machine.Uuid, machine.Workflow, world).length === 0;
  const ofChange = [...assignErrors(isEntered ? machine : asked, world), ...forbidden];
  const others = (isEntered ? machine.Errors : availability("machines", asked, world).Errors).filter(
    (error) => !ofChange.includes(error),
  );
  return invalid(asked, [...prefixed(asked, unsound), ...ofChange, ...prefixed(asked, others)]);
}

function withDefaults(read: Machine, world: World, made: MadeMachine): Machine {
  const { prefs } = world;
  return {
    ...read,
    Uuid: read.Uuid === "" ? made.uuid : read.Uuid,
    Secret: read.Secret === "" ? made.secret : read.Secret,
    Workflow: read.Workflow === "" ? (prefs["defaultWorkflow"] ?? "") : read.Workflow,
    Stage: read.Stage === "" ? (prefs["defaultStage"] ?? "none") : read.Stage,
    BootEnv: read.BootEnv === "" ? (prefs["defaultBootEnv"] ?? "local") : read.BootEnv,
    // The original's client always sends one, mostly empty.
    Context: read.Context === "" ? baseContext(read.Meta) : read.Context,
  };
}

/** On creation, the client's tasks are kept if the stage has none. */
function enterFirstStage(machine: Machine, world: World): Partial<Machine> {
  const stage = world.get("stages", machine.Stage);
  const tasks = stage === undefined || stage.Tasks.length === 0 ? machine.Tasks : stage.Tasks;
  const bootEnv = stage === undefined || stage.BootEnv === "" ? machine.BootEnv : stage.BootEnv;
  return { Tasks: expandPrerequisites(tasks, world, { from: 0, bootEnv }), BootEnv: bootEnv };
}

/** The first stage of a workflow takes effect at once, before any task runs. */
function enterWorkflow(machine: Machine, world: World): Partial<Machine> {
  const workflow = world.get("workflows", machine.Workflow);
  if (workflow === undefined) return { Tasks: [], CurrentTask: -1 };
  const first = workflow.Stages[0];
  const bootEnv = (first === undefined ? undefined : world.get("stages", first)?.BootEnv) || machine.BootEnv;
  return {
    Tasks: expandPrerequisites(tasksOfWorkflow(workflow, world), world, { from: 0, bootEnv }),
    CurrentTask: -1,
    Stage: first ?? machine.Stage,
    BootEnv: bootEnv,
  };
}

/**
 * Applies a client's change of a machine, with all consequences. `changed` comes from `readObject`. Returns `old`
 * itself if nothing changes.
 */
export function changeMachine(
  old: Machine,
  changed: Machine,
  world: World,
  how: HowToChange = {},
): Result<Machine, ModelError> {
  if (how.isUser === true && old.Locked && changed.Locked) {
    return jsonEquals(old, changed) ? ok(old) : err(refusal(403, "", "machines", old.Uuid, "Locked"));
  }
  const unsound = syntaxErrors("machines", changed, world, old);
  if (unsound.length > 0) return err(unsoundObject("machines", old.Uuid, unsound));
  const outcome = consequences(old, changed, world, how);
  if (outcome.errors.length > 0) return invalid(old, outcome.errors);
  const machine = settled({ ...changed, ...outcome.set }, old, world);
  const refused = newAssignErrors(old, machine, world);
  if (refused.length > 0) return invalid(old, refused);
  return ok(jsonEquals(old, machine) ? old : machine);
}

interface Outcome {
  readonly errors: readonly string[];
  /** Fields that the change sets. */
  readonly set: Partial<Machine>;
}

const refused = (...errors: readonly string[]): Outcome => ({ errors, set: {} });
const sets = (set: Partial<Machine>): Outcome => ({ errors: [], set });

function consequences(old: Machine, changed: Machine, world: World, how: HowToChange): Outcome {
  const context = baseContext(changed.Meta);
  if (changed.Workflow !== old.Workflow) {
    if (changed.Workflow === "") return removeWorkflow(old, changed, world);
    return sets({ ...enterWorkflow({ ...changed, Stage: old.Stage, BootEnv: old.BootEnv }, world), Context: context });
  }
  if (changed.Workflow !== "") {
    const errors = heldErrors(old, changed, world);
    return errors.length > 0 ? refused(...errors) : changeList(old, changed, world, how);
  }
  const Stage = changed.Stage === "" ? "none" : changed.Stage;
  if (Stage !== old.Stage) {
    const isPending = old.Tasks.length > 0 && old.CurrentTask < old.Tasks.length;
    if (isPending && how.isForced !== true) return refused("Can not change stages with pending tasks unless forced");
    return sets(enterStage({ ...changed, Stage }, world));
  }
  if (changed.BootEnv !== old.BootEnv && Stage !== "none" && how.isForced !== true) {
    const places = `old: ${old.BootEnv} new ${changed.BootEnv}`;
    return refused(`Can not change bootenv while in a stage unless forced. ${places}`);
  }
  const list = changeList(old, changed, world, how);
  return list.errors.length > 0 ? list : sets({ Stage, ...list.set });
}

function removeWorkflow(old: Machine, changed: Machine, world: World): Outcome {
  const Stage = changed.Stage === old.Stage || changed.Stage === "" ? "none" : changed.Stage;
  if (Stage !== "none") return sets(enterStage({ ...changed, Stage }, world));
  return sets({ Stage, Tasks: [], CurrentTask: -1, Context: baseContext(changed.Meta) });
}

function enterStage(machine: Machine, world: World): Partial<Machine> {
  const stage = world.get("stages", machine.Stage);
  const bootEnv = stage === undefined || stage.BootEnv === "" ? machine.BootEnv : stage.BootEnv;
  return {
    Stage: machine.Stage,
    BootEnv: bootEnv,
    Tasks: expandPrerequisites(stage?.Tasks ?? [], world, { from: 0, bootEnv }),
    CurrentTask: -1,
    Context: baseContext(machine.Meta),
  };
}

/** Under a workflow, stage and boot environment are read-only, even with force. */
function heldErrors(old: Machine, changed: Machine, world: World): readonly string[] {
  const isOtherStage = changed.Stage !== old.Stage;
  const ofStage = isOtherStage ? (world.get("stages", changed.Stage)?.BootEnv ?? "") : "";
  const isOtherBootEnv = changed.BootEnv !== old.BootEnv || (ofStage !== "" && ofStage !== old.BootEnv);
  return prefixed(old, [
    ...(isOtherBootEnv ? ["Changing machine bootenv not allowed; remove workflow first"] : []),
    ...(isOtherStage ? ["Changing machine stage not allowed; remove workflow first"] : []),
  ]);
}

/** Changes of Tasks and CurrentTask within the same workflow or stage. */
function changeList(old: Machine, changed: Machine, world: World, how: HowToChange): Outcome {
  const isMoved = changed.CurrentTask !== old.CurrentTask;
  if (sameTexts(old.Tasks, changed.Tasks)) return isMoved ? reposition(old, changed, world, how) : sets({});
  const isReset = isMoved && changed.CurrentTask < 0;
  if (isMoved && !isReset && old.Tasks.length > 0) {
    return refused("Cannot change task list and current task at the same time");
  }
  const currentTask = isReset ? -1 : old.CurrentTask;
  const errors = editErrors({ tasks: old.Tasks, currentTask }, changed.Tasks, how.isForced === true);
  if (errors.length > 0) return refused(...errors);
  const { past } = windowsOf(old.Tasks, currentTask);
  // If the past contains `bootenv:` entries, the first of them sets the boot environment in force.
  const bootEnv = past.some((entry) => entry.startsWith("bootenv:")) ? "" : changed.BootEnv;
  const Tasks = expandPrerequisites(changed.Tasks, world, { from: past.length, bootEnv });
  if (Tasks.length === 0) return sets({ Tasks, CurrentTask: 0 });
  if (isReset) return sets({ Tasks, ...restarted({ ...changed, Tasks }, old.CurrentTask, world) });
  return sets({ Tasks, CurrentTask: old.Tasks.length === 0 ? -1 : old.CurrentTask });
}

function restarted(machine: Machine, from: number, world: World): { CurrentTask: number; Context: string } {
  const CurrentTask = machine.Workflow === "" ? -1 : restartIndex(machine.Tasks, from, machine.BootEnv, world);
  return { CurrentTask, Context: contextAt(machine.Tasks, CurrentTask, baseContext(machine.Meta)) };
}

function reposition(old: Machine, changed: Machine, world: World, how: HowToChange): Outcome {
  const first = restarted(changed, old.CurrentTask, world);
  if (changed.CurrentTask < 0) return sets(first);
  const CurrentTask = Math.min(changed.CurrentTask, changed.Tasks.length);
  if (CurrentTask === old.CurrentTask) return sets({ CurrentTask });
  const move = `Cannot change CurrentTask from ${old.CurrentTask} to ${changed.CurrentTask}`;
  if (how.mayReposition !== true) return refused(`${move} (reposition not allowed)`);
  if (CurrentTask > old.CurrentTask) {
    return refused(`Cannot advance CurrentTask from ${old.CurrentTask} to ${changed.CurrentTask} without running jobs`);
  }
  if (CurrentTask < first.CurrentTask) return refused(`${move} past ${first.CurrentTask}`);
  return sets({ CurrentTask, Context: contextAt(changed.Tasks, CurrentTask, baseContext(changed.Meta)) });
}

const assignErrors = (machine: Machine, world: World): readonly string[] => [
  ...stageUseErrors(machine.Stage, world),
  ...bootEnvUseErrors(machine.BootEnv, world),
  ...workflowUseErrors(machine.Uuid, machine.Workflow, world),
];

/** Only new assignments are refused; references that broke later make the machine unavailable. */
function newAssignErrors(old: Machine, machine: Machine, world: World): readonly string[] {
  const isNewBootEnv = machine.BootEnv !== old.BootEnv;
  if (machine.Workflow !== old.Workflow) {
    const ofWorkflow = workflowUseErrors(machine.Uuid, machine.Workflow, world);
    if (ofWorkflow.length > 0) return ofWorkflow;
  }
  return [
    ...(machine.Stage === old.Stage ? [] : stageUseErrors(machine.Stage, world)),
    ...(isNewBootEnv ? bootEnvUseErrors(machine.BootEnv, world) : []),
    ...(isNewBootEnv ? onlyUnknownErrors(machine.BootEnv, world) : []),
  ];
}

const onlyUnknownErrors = (bootEnv: string, world: World): readonly string[] =>
  world.get("bootenvs", bootEnv)?.OnlyUnknown === true
    ? [`BootEnv ${bootEnv} does not allow Machine assignments, it has the OnlyUnknown flag.`]
    : [];

/**
 * Recomputes all derived fields of a machine before it is stored. `old` is undefined on creation. Returns `machine`
 * itself if nothing changes.
 */
export function settled(machine: Machine, old: Machine | undefined, world: World): Machine {
  const bootEnv = world.get("bootenvs", machine.BootEnv);
  const stage = world.get("stages", machine.Stage);
  const CurrentTask = Math.min(machine.CurrentTask, machine.Tasks.length);
  const isMoved = old !== undefined && machine.BootEnv !== old.BootEnv;
  const isEntered = old === undefined || isMoved;
  const isInstalled = isEntered && machine.BootEnv.endsWith("-install") && bootEnv !== undefined;
  const { Available, Errors } = availability("machines", machine, world);
  const result: Machine = {
    ...machine,
    Meta: withFlags(machine.Meta, machineFlags(bootEnv?.Meta, stage?.Meta)),
    OS: isInstalled ? bootEnv.OS.Name : machine.OS,
    CurrentTask,
    WorkflowComplete: isComplete(machine.Tasks, CurrentTask),
    Available,
    Errors,
    Runnable: machine.Runnable && Available && !isMoved,
  };
  return jsonEquals(machine, result) ? machine : result;
}

export const isComplete = (tasks: readonly string[], currentTask: number): boolean =>
  tasks.length === 0 || currentTask >= tasks.length;
