// `docker` steps use the engine's builder, which needs no privileged container and leaves the image on the engine
// for later steps.

import { codeOf, messageOf, shellQuoted } from "#lib/base/index.ts";
import { type ContainerEngine, imageAddress, loginsFor, loginsIn, type RegistryLogin } from "#kernel/runtimes/index.ts";
import type { StepEnd, StepJob } from "../step-runtime.ts";
import { buildContext } from "./build-context.ts";
import { buildRequestOf } from "./build-request.ts";
import type { PullPolicy } from "./images.ts";
import { StepFailure } from "../step-failure.ts";

export type ImageBuilder = "engine" | "kaniko";

export interface BuildOptions {
  readonly engine: ContainerEngine;
  readonly pull: PullPolicy;
  readonly logins: (image: string) => Promise<readonly RegistryLogin[]>;
}

/** Paths of kaniko's logins and certificates in the plan. */
const loginsPath = "/kaniko/.docker";
const certificatePath = "/mnt/cert";

export async function buildImage(job: StepJob, { engine, pull, logins }: BuildOptions): Promise<StepEnd> {
  const { step, env, repository, overlay, signal, log } = job;
  job.onPhase("Initializing");
  const request = buildRequestOf(step, env);
  const context = await buildContext(
    () => repository.tar(overlay),
    request,
    (text) => withCertificate(text, job),
  );
  const own = loginFile(job);
  const tell = (text: string): void => void log.append("stdout", Buffer.from(text));
  job.onPhase("Running");
  const build = {
    context: context.tar,
    dockerfile: context.dockerfile,
    names: request.destinations,
    args: request.args,
    logins: loginsIn(own),
    pulls: pull === "always",
  };
  await engine.build(build, tell, signal).catch(asFailure("ImageBuild", signal));
  for (const image of request.isPushed ? request.destinations : []) {
    tell(`pushing ${image} to ${imageAddress(image).host}\n`);
    const [login] = [...loginsFor(image, [own]), ...(await logins(image))];
    await engine.push(image, login, tell, signal).catch(asFailure("ImagePush", signal));
  }
  return { status: "Success", exitCode: 0 };
}

function loginFile({ mounts }: StepJob): ReadonlyMap<string, Buffer> {
  const file = mounts.find(({ path }) => path === loginsPath)?.files.get("config.json");
  return new Map(file === undefined ? [] : [[".dockerconfigjson", file]]);
}

const asFailure =
  (reason: "ImageBuild" | "ImagePush", signal: AbortSignal) =>
  (thrown: unknown): never => {
    signal.throwIfAborted();
    if (codeOf(thrown) === "engine-unreachable") throw new StepFailure("RuntimeLost", messageOf(thrown));
    const message = messageOf(thrown);
    const code = /returned a non-zero code: (\d+)/.exec(message)?.[1];
    throw new StepFailure(reason, message, code === undefined ? null : Number(code));
  };

/** The engine's builder has no mounts, so the appended lines contain the certificate instead of reading it. */
function withCertificate(dockerfile: string, { step, mounts }: StepJob): string {
  const change = step.repo.overlay.find((one) => one.change === "append");
  const certificate = mounts.find(({ path }) => path === certificatePath)?.files.get("root.crt");
  if (change === undefined || certificate === undefined || !dockerfile.endsWith(change.text)) return dockerfile;
  const lines = certificate.toString().trimEnd().split(/\r?\n/).map(shellQuoted).join(" \\\n  ");
  const own = dockerfile.slice(0, dockerfile.length - change.text.length);
  return `${own}${change.text.replace(`cat ${certificatePath}/root.crt`, `printf '%s\\n' ${lines}`)}`;
}
