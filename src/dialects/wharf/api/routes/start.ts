import { messageOf } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { engineOf } from "../../builds/engines.ts";
import { isOver, wordOf } from "../../state.ts";
import { readInputs, resolveInputs } from "../../builds/inputs.ts";
import { gitUrlOf } from "../../builds/parameters.ts";
import { isRefused, isUnknown, isUnstartable, startWorker } from "../../builds/start-worker.ts";
import { notAnswered, perhapsTriggered, triggered, untriggered, withoutNote } from "../../builds/transitions.ts";
import { boundAnonymous, callerOf } from "../../http/caller.ts";
import { refuse } from "../../http/index.ts";
import { type RestContext, sendJson } from "../../http/rest-api.ts";
import type { Build, Project } from "../../kinds.ts";
import { readJson } from "../body.ts";
import type { Api, ApiParts } from "./parts.ts";
import { defaultBranchOf, projectIdOf } from "./projects.ts";

// Answers when the engine has accepted the build, as original clients expect. The build is stored before, so the
// controller continues if this process ends.

export function addStartRoutes(api: Api, parts: ApiParts): void {
  api.post("/api/project/:projectId/build", (context) =>
    startBuild(context, context.req.query("stage") ?? "ALL", parts),
  );
  api.post("/api/project/:projectId/:stage/run", (context) => startBuild(context, context.req.param("stage"), parts));
}

/** Invalid requests are refused before anything is stored; a build that its engine refuses is stored as failed and
 * invalid. */
async function startBuild(context: RestContext, stage: string, parts: ApiParts): Promise<Response> {
  const { repository, start } = parts;
  const engineId = context.req.query("engine") ?? "";
  const engine = engineOf(start.engines, engineId);
  if (engine === undefined && engineId === "") throw refuse("engine/no-default", "there is no engine to run builds");
  if (engine === undefined)
    throw refuse("invalid-param", `engine: there is no engine ${JSON.stringify(engineId)}`, { parameter: "engine" });
  const project = repository.project(projectIdOf(context));
  const branch = context.req.query("branch") ?? defaultBranchOf(project);
  const environment = context.req.query("environment");
  const { plain, secret } = await readValues(context, project);
  if (gitUrlOf(project) === "")
    throw refuse(
      "project/run/params-serialize",
      `project with ID ${project.spec.projectId ?? 0} has no gitUrl to clone`,
    );
  const spec = {
    project: project.metadata.name,
    ref: branch,
    stage: stage === "" ? "ALL" : stage,
    ...(environment === undefined ? {} : { environment }),
    inputs: plain,
    engine: engine.id,
  };
  const unfinished = repository.records.builds.list().filter((one) => !isOver(wordOf(one)));
  boundAnonymous(context, unfinished.length, "unfinished builds");
  const caller = callerOf(context);
  const build = await repository.createBuild(project, spec, secret, caller);
  await trigger(build, { ...parts, start: { ...start, caller } });
  return sendJson(context, { buildRef: `${build.spec.buildId ?? 0}` });
}

async function readValues(context: RestContext, project: Stored<Project>) {
  const given = readInputs(await readJson(context, "project/run/params-deserialize"));
  if (!given.ok) throw refuseInputs(given.error);
  const resolved = resolveInputs(project.spec.buildDefinition, given.value);
  if (!resolved.ok) throw refuseInputs(resolved.error);
  return resolved.value;
}

const refuseInputs = (errors: readonly string[]) =>
  refuse("project/run/params-deserialize", errors.join("; "), { errors });

/** The controller takes over after a crash or without an answer. */
async function trigger(build: Stored<Build>, { repository, start, clock, log }: ApiParts): Promise<void> {
  const { buildId = 0 } = build.spec;
  const patience = AbortSignal.timeout(12_000);
  const noteUnknown = async (message: string) =>
    void (await repository.updateStatus(buildId, (now) => perhapsTriggered(now, message, clock.now())));
  try {
    const workerId = await startWorker(build, start, patience, () => noteUnknown(notAnswered));
    await repository.updateStatus(buildId, (now) => triggered(now, workerId, clock.now()));
  } catch (thrown) {
    const message = messageOf(thrown);
    if (isUnknown(thrown)) {
      log.warn("build waits for a worker that may not exist", { build: buildId, error: message });
      return await noteUnknown(message);
    }
    if (!isRefused(thrown)) return log.warn("build waits for its engine", { build: buildId, error: message });
    const reason = isUnstartable(thrown) ? "Unstartable" : "TriggerFailed";
    const stored = await repository.updateStatus(buildId, (now) =>
      untriggered(withoutNote(now), reason, message, clock.now()),
    );
    if (wordOf(stored) === "Running") return;
    throw refuse("project/run/trigger", `build ${buildId} could not be started: ${message}`, { cause: thrown });
  }
}
