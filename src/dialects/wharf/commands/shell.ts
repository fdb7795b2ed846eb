import { stat } from "node:fs/promises";
import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { exitCode, type Invocation, UsageError } from "#kernel/command/index.ts";
import type { WharfRunOptions } from "./run-options.ts";
import { buildsOf, ownRoot } from "../results/place.ts";
import { readBuild } from "../results/read-build.ts";
import { stepWorkspace } from "../worker/step-workspace.ts";
import { openPodShell } from "./pod-shell.ts";

/** Opens a shell in the kept directory of a failed step (`BUILD/STEP`) and returns its exit code. */
export async function openShell(invocation: Invocation<WharfRunOptions>, word: string): Promise<number> {
  const { environment } = invocation;
  const { build, step: wanted } = readWord(word);
  const isNumber = /^\d+(?:\.\d+)?$/.test(build);
  const home = isNumber ? buildsOf(await ownRoot(environment.variable("TMPDIR") ?? "/tmp")) : environment.directory;
  const directory = resolve(home, build);
  const { steps, runtime, instance, buildId } = await readBuild(directory);
  const step = steps.find(({ stepId, name }) => `${stepId}` === wanted || name === wanted);
  if (step === undefined) {
    const names = steps.map(({ stepId, name }) => `${stepId} (${name})`).join(", ");
    return refuse(environment.err, `build ${build} has no step ${wanted}; its steps are ${names}`);
  }
  if (runtime === "kubernetes") {
    const called = `step ${step.name} (${step.status}) of build ${build}`;
    return await openPodShell(invocation, { instance, buildId, stepId: step.stepId, called });
  }
  if (runtime === "docker")
    return refuse(
      environment.err,
      `step ${step.name} ran in a container, which has ended; kept containers are listed by docker ps --all --filter label=slipway.dev/keep, and docker cp copies files from them`,
    );
  const workspace = stepWorkspace(directory, step.stepId);
  if (
    await stat(workspace.repository).then(
      () => false,
      () => true,
    )
  )
    return refuse(
      environment.err,
      `no files of step ${step.name} are kept; use --keep to keep the directories of failed steps`,
    );
  const shell = environment.variable("SHELL") ?? "/bin/sh";
  environment.err.write(`step ${step.name} (${step.status}) of build ${build}: ${workspace.repository}\n`);
  return await runShell(shell, workspace.repository, { ...environment.all, WHARF_ARTIFACTS_DIR: workspace.artifacts });
}

function readWord(word: string): { readonly build: string; readonly step: string } {
  const [, build, step] = /^(.+)\/([^/]+)$/.exec(word) ?? [];
  if (build === undefined || step === undefined) throw new UsageError("expected BUILD/STEP, such as 12/3 or 12/test");
  return { build, step };
}

function refuse(err: { write(text: string): void }, message: string): number {
  err.write(`slipway: ${message}\n`);
  return exitCode.failed;
}

/** The terminal sends signals to the shell itself. */
async function runShell(
  shell: string,
  directory: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const child = spawn(shell, [], { cwd: directory, env, stdio: "inherit" });
  return await new Promise<number>((resolve, reject) => {
    child.once("error", reject).once("close", (code) => resolve(code ?? exitCode.failed));
  });
}
