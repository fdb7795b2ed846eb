import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { ancestryOf } from "#engine/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import type { CompiledStep, CompiledWorkflow } from "./compile/compiled.ts";
import { isApplied, stepSources } from "./compile/step-source.ts";
import { hasCompletionRule } from "./completion.ts";
import { type Workflow, type WorkflowSpec, WorkflowTemplate } from "./kinds.ts";
import type { ProblemCollector } from "#kernel/dialect/index.ts";
import { containedTemplates, recursionHint } from "./recursion.ts";
import { warnUnknown } from "./unknown-kinds.ts";

/** Warns of what is unwise in a compiled workflow, and of mistakes that only show when it runs. */
export function lintWorkflow(compiled: CompiledWorkflow, object: KubeObject, found: ProblemCollector): void {
  // It compiled, so it is one.
  const { spec } = object as Workflow;
  const sources = stepSources(spec);
  const bounded = sources.some(({ step }) =>
    [step.timeoutSeconds, step.deadlineSeconds, step.approval?.timeoutSeconds].some((limit) => limit !== undefined),
  );
  if (spec.activeDeadlineSeconds === undefined && !bounded)
    found.warn(["spec"], "unbounded", "no deadline and no timeout: a step that hangs runs for ever");
  for (const { key, path } of sources) {
    const step = compiled.steps.get(key);
    if (step === undefined) continue;
    lintName(step, [...path], found);
    lintCompletion(step, [...path], found);
    lintRetry(step, [...path], found);
    lintShell(step, [...path], found);
    lintLocks(step, [...path], found);
    lintConstantGate(step, [...path], found);
  }
  if (object.kind === WorkflowTemplate.kind) lintRecursion(spec, object.metadata.name, found);
  lintEdges(compiled, sources, found);
  lintArtifacts(compiled, sources, found);
  warnUnknown(spec, found.warn);
}

type Path = readonly (string | number)[];

/** Short words that YAML 1.1 reads as booleans. */
const yamlWords = { true: "y, yes and on", false: "n, no and off" };

/** Names that YAML 1.1 changed, which expressions and commands will not find. */
export function lintNames({ spec }: JsonObject, found: ProblemCollector): void {
  if (!isJsonObject(spec)) return;
  for (const member of ["steps", "finally", "outputs", "arguments"])
    lintYamlWords(spec[member], ["spec", member], found);
  for (const part of ["steps", "finally"]) {
    const steps = spec[part];
    for (const [key, step] of Object.entries(isJsonObject(steps) ? steps : {}))
      if (isJsonObject(step)) {
        lintYamlWords(step["outputs"], ["spec", part, key, "outputs"], found);
        lintYamlWords(at(step, "forEach", "matrix"), ["spec", part, key, "forEach", "matrix"], found);
      }
  }
}

function lintYamlWords(named: JsonValue | undefined, path: Path, found: ProblemCollector): void {
  for (const [name, words] of Object.entries(yamlWords))
    if (isJsonObject(named) && Object.hasOwn(named, name))
      found.warn(
        [...path, name],
        "yaml-word",
        `the name is "${name}", which is what YAML makes of the plain words ${words}`,
        "write the name in quotes",
      );
}

function lintRecursion(spec: WorkflowSpec, name: string | undefined, found: ProblemCollector): void {
  for (const contained of containedTemplates(spec))
    if (contained.name === name)
      found.error(contained.path, "recursion", `the template "${name}" contains itself`, recursionHint);
}

/** Attempts cannot share a name. An applied object is the same for all attempts but not for all items. */
function lintName({ step, type }: CompiledStep, path: Path, found: ProblemCollector): void {
  const metadata = step.template?.["metadata"];
  const name = type === "template" && isJsonObject(metadata) ? metadata["name"] : undefined;
  const many = isApplied(step) ? (step.forEach === undefined ? undefined : "forEach") : severalOf(step);
  if (typeof name !== "string" || name.includes("${{") || many === undefined) return;
  const at = [...path, "template", "metadata", "name"];
  if (isApplied(step))
    found.error(at, "fixed-name", "every item is applied to the same object", "make the item part of the name");
  else {
    const hint = "leave the name out, then each attempt gets its own";
    found.error(at, "fixed-name", `a step with ${many} creates several objects`, hint);
  }
}

function severalOf({ retry, forEach, repeat }: CompiledStep["step"]): string | undefined {
  if (forEach !== undefined) return "forEach";
  if (repeat !== undefined) return "repeat";
  return (retry?.limit ?? 0) > 0 ? "retry" : undefined;
}

/** An unknown kind may never report completion. */
function lintCompletion({ step, type }: CompiledStep, path: Path, found: ProblemCollector): void {
  if (step.completion !== undefined) return;
  const object = type === "template" ? step.template : type === "externalRef" ? step.externalRef : undefined;
  const { apiVersion, kind } = object ?? {};
  if (typeof apiVersion !== "string" || typeof kind !== "string" || hasCompletionRule(apiVersion, kind)) return;
  found.warn(
    [...path, type],
    "no-completion-rule",
    `nothing is known about when a ${kind} is done; conditions Complete, Succeeded and Failed are looked for`,
    "say it with completion",
  );
}

function lintRetry({ step }: CompiledStep, path: Path, found: ProblemCollector): void {
  const pod = at(step.jobTemplate, "spec", "template", "spec");
  if (pod?.["restartPolicy"] !== "OnFailure" || (step.retry?.limit ?? 0) === 0) return;
  found.warn(
    [...path, "retry"],
    "two-retries",
    "restartPolicy OnFailure restarts the container, and retry starts the Job again",
  );
}

function at(object: JsonObject | undefined, ...path: readonly string[]): JsonObject | undefined {
  let value: JsonObject | undefined = object;
  for (const name of path) {
    const next: JsonValue | undefined = value?.[name];
    value = isJsonObject(next) ? next : undefined;
  }
  return value;
}

/** Shells, with or without a path. */
const shells = /(?:^|\/)(?:ba|da|z|k|a)?sh$/;

/** A value in a script is code; an environment variable is safe. */
function lintShell({ body, step }: CompiledStep, path: Path, found: ProblemCollector): void {
  for (const expression of body?.template.expressions ?? []) {
    const field = expression.path.findLast((part) => part === "command" || part === "args");
    const roots = expression.references.variables.map((reference) => reference.root);
    if (field === undefined || !roots.some((root) => root === "params" || root === "steps")) continue;
    const owner = expression.path.slice(0, expression.path.lastIndexOf(field));
    if (!runsShell(memberAt(step.container ?? step.jobTemplate, owner))) continue;
    found.warn(
      [...path, step.container === undefined ? "jobTemplate" : "container", ...expression.path],
      "shell-interpolation",
      `\${{ ${expression.source.trim()} }} becomes part of a script`,
      "pass it through env",
    );
  }
}

function memberAt(object: unknown, path: Path): unknown {
  let value: unknown = object;
  for (const part of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = Object.entries(value).find(([name]) => name === String(part))?.[1];
  }
  return value;
}

const heldLong: Partial<Record<CompiledStep["type"], string>> = {
  wait: "a timer takes no locks: they have no effect here",
  externalRef: "the lock is held for as long as what others run takes, and keeps none of that from running",
  approval: "the lock is held for as long as people take to decide",
};

function lintLocks({ step, type }: CompiledStep, path: Path, found: ProblemCollector): void {
  const why = (step.locks ?? []).length === 0 ? undefined : heldLong[type];
  if (why !== undefined) found.warn([...path, "locks"], "idle-lock", why, "put it on the step that does the work");
}

/** Runs its arguments as a script. */
function runsShell(container: unknown): boolean {
  if (!isJsonObject(container)) return false;
  const [program] = Array.isArray(container["command"]) ? container["command"] : [];
  return typeof program === "string" && shells.test(program);
}

/** Conditions without variables are constant, unless they use status functions. */
function lintConstantGate({ when, key }: CompiledStep, path: Path, found: ProblemCollector): void {
  if (when === undefined || when.program.references.variables.length > 0) return;
  if (when.program.references.functions.some((name) => ["success", "failure", "always"].includes(name))) return;
  const answer = when.program.evaluate({});
  if (answer.ok && answer.value === false)
    found.error([...path, "when"], "unreachable", `is always false: step "${key}" never runs`);
}

/** Unused artifacts may be for people; one that may be missing is used by chance. */
function lintArtifacts(
  compiled: CompiledWorkflow,
  sources: ReturnType<typeof stepSources>,
  found: ProblemCollector,
): void {
  const steps = [...compiled.steps.values()];
  const taken = new Set(steps.flatMap(({ takes }) => takes.map(({ step, artifact }) => `${step}/${artifact}`)));
  for (const { key, path } of sources) {
    const { leaves = [], takes = [] } = compiled.steps.get(key) ?? {};
    for (const [index, { name }] of leaves.entries())
      if (!taken.has(`${key}/${name}`))
        found.warn([...path, "outputArtifacts", index], "unused-artifact", `no step takes the artifact "${name}"`);
    for (const [index, { step, artifact, optional }] of takes.entries()) {
      const maker = compiled.steps.get(step)?.leaves.find(({ name }) => name === artifact);
      if (maker?.optional !== true || optional) continue;
      const message = `${step} may succeed without "${artifact}", and then this step is skipped`;
      found.warn([...path, "inputs", "artifacts", index], "optional-artifact", message, "make the input optional, too");
    }
  }
}

/** A redundant edge misleads readers. */
function lintEdges(compiled: CompiledWorkflow, sources: ReturnType<typeof stepSources>, found: ProblemCollector): void {
  for (const graph of [compiled.plan.graph, compiled.plan.final?.graph]) {
    if (graph === undefined) continue;
    const ancestry = ancestryOf(graph);
    for (const { key, path, step } of sources) {
      const node = graph.nodeById.get(key);
      if (node === undefined) continue;
      for (const [index, dependency] of (step.dependencies ?? []).entries())
        if (ancestry.isImplied(node, graph.nodeById.get(dependency) ?? node))
          found.warn(
            [...path, "dependencies", index],
            "redundant-edge",
            `"${dependency}" comes before another dependency already`,
          );
    }
  }
}
