// Rules beyond the tables of fields. They also run for steps with other errors, so required values may be missing
// here.

import { parseDuration } from "#lib/base/index.ts";
import type { Step, StepOfType } from "./definition.ts";
import { below, type Reporter, type Spot } from "./diagnostics.ts";

export function checkStep(step: Step, reporter: Reporter): void {
  checkWords(step, reporter);
  switch (step.type) {
    case "container":
      return checkContainer(step, reporter);
    case "docker":
      return checkDocker(step, reporter);
    case "helm":
      return checkPaths(step, "files", step.values.files ?? [], reporter);
    case "kubectl":
      return checkKubectl(step, reporter);
    case "helm-package":
    case "nuget-package":
      return undefined;
  }
}

/** Fields that are command-line words, where a leading `-` would make them an option. */
const words: Readonly<Partial<Record<Step["type"], readonly string[]>>> = {
  helm: ["chart", "name"],
  "helm-package": ["chart-path", "destination"],
  kubectl: ["action"],
  "nuget-package": ["project-path", "repo"],
};

/** Inputs and variables must not add options, or properties of MSBuild, to a program. */
function checkWords(step: Step, { error }: Reporter): void {
  const values: Readonly<Record<string, unknown>> = step.values;
  for (const field of words[step.type] ?? []) {
    const value = values[field];
    if (typeof value === "string" && value.startsWith("-"))
      error(
        fieldSpot(step, field),
        "type",
        `expected a value that does not begin with "-", found ${JSON.stringify(value)}`,
      );
  }
  if (step.type === "nuget-package" && /[;,]/.test(step.values.version))
    error(fieldSpot(step, "version"), "type", `expected a version, found ${JSON.stringify(step.values.version)}`);
}

export function fieldSpot(step: Step, field: string, index?: number): Spot {
  const scope = below(step.scope, field);
  const { items, ...place } = step.places.get(field) ?? { at: step.at };
  return index === undefined ? { scope, ...place } : { scope: `${scope}[${index}]`, ...(items?.[index] ?? place) };
}

function checkContainer(step: StepOfType<"container">, { error }: Reporter): void {
  const { os, timeout } = step.values;
  if (os !== "linux" && os !== "windows")
    error(fieldSpot(step, "os"), "type", `expected linux or windows, found ${JSON.stringify(os)}`);
  if (timeout === undefined) return;
  const read = parseDuration(timeout);
  if (!read.ok) error(fieldSpot(step, "timeout"), "type", read.error);
  else if (read.value <= 0) error(fieldSpot(step, "timeout"), "type", `expected a time above 0, found ${timeout}`);
}

function checkDocker(step: StepOfType<"docker">, { error }: Reporter): void {
  const { tag, secretName, secretArgs } = step.values;
  if (tag !== undefined && tag !== "" && tagsOf(tag).length === 0)
    error(fieldSpot(step, "tag"), "no-tags", `expected tags separated by commas, found ${JSON.stringify(tag)}`);
  const hasName = secretName !== undefined && secretName !== "";
  const hasArgs = secretArgs !== undefined && secretArgs.length > 0;
  if (hasArgs && !hasName)
    error(
      fieldSpot(step, "secretArgs"),
      "secret-arg",
      "secretArgs need secretName, the secret that they are taken from",
    );
  if (hasName && !hasArgs)
    error(
      fieldSpot(step, "secretName"),
      "secret-arg",
      "secretName needs secretArgs: which of its keys are which arguments",
    );
  for (const [index, entry] of (secretArgs ?? []).entries())
    if (secretArgOf(entry) === undefined)
      error(
        fieldSpot(step, "secretArgs", index),
        "secret-arg",
        `expected ARGUMENT=key, found ${JSON.stringify(entry)}`,
      );
}

export const tagsOf = (text: string): readonly string[] =>
  text
    .split(",")
    .map((tag) => tag.trim())
    .filter((tag) => tag !== "");

/** Undefined if name or key is missing. */
export function secretArgOf(entry: string): { readonly name: string; readonly key: string } | undefined {
  const [, name = "", key = ""] = /^([^=]*)=(.*)$/s.exec(entry) ?? [];
  return name.trim() === "" || key.trim() === "" ? undefined : { name: name.trim(), key: key.trim() };
}

function checkKubectl(step: StepOfType<"kubectl">, reporter: Reporter): void {
  const { file, files = [] } = step.values;
  const hasFile = file !== undefined && file !== "";
  if (!hasFile && files.length === 0) {
    const { at } = step.places.get("files") ?? step.places.get("file") ?? step;
    const message = 'one of the fields "file" and "files" is required';
    reporter.error({ scope: below(step.scope, "file"), at }, "field-required", message);
  }
  checkPaths(step, "files", files, reporter);
  if (hasFile && escapes(file)) reportEscape(fieldSpot(step, "file"), file, reporter);
}

/** Files outside of the project do not exist where the step runs. */
function checkPaths(step: Step, field: string, paths: readonly string[], reporter: Reporter): void {
  for (const [index, path] of paths.entries())
    if (escapes(path)) reportEscape(fieldSpot(step, field, index), path, reporter);
}

export const reportEscape = (spot: Spot, path: string, { error }: Reporter): void =>
  error(spot, "path-escape", `${JSON.stringify(path)} is outside the project directory`);

export const isForeign = (path: string): boolean => path === "-" || /^[A-Za-z][A-Za-z0-9+.-]+:\/\//.test(path);

/** Judges the text of the path only, not links. */
function escapes(path: string): boolean {
  if (isForeign(path)) return false;
  if (/^(?:[/\\]|[A-Za-z]:)/.test(path)) return true;
  let depth = 0;
  for (const part of path.split(/[/\\]/)) {
    if (part === "..") depth -= 1;
    else if (part !== "" && part !== ".") depth += 1;
    if (depth < 0) return true;
  }
  return false;
}
