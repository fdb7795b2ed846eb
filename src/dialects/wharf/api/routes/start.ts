import { messageOf } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { engineOf } from "../../builds/engines.ts";
import { isOver, wordOf } from "../../build-status.ts";
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

// A request that starts a build is answered when the engine has taken it, as the original's callers expect. The build is stored before: if this
// process ends in between, the controller goes on: the engine knows the build by its number, or it is noted that it was asked.

/** Starting builds of a project. The second path is what older clients ask. */
export function addStartRoutes(api: Api, parts: ApiParts): void {
  api.post("/api/project/:projectId/build", (context) =>
    startBuild(context, context.req.query("stage") ?? "ALL", parts),
  );
  api.post("/api/project/:projectId/:stage/run", (context) => startBuild(context, context.req.param("stage"), parts));
}

/**
 * Stores a build, has it started, and answers with its number. What is wrong with the request is refused before anything is stored; a build whose
 * engine does not take it is stored as failed and invalid.
 */
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

/** The values of all inputs of the project's definition. */
async function readValues(context: RestContext, project: Stored<Project>) {
  const given = readInputs(await readJson(context, "project/run/params-deserialize"));
  if (!given.ok) throw refuseInputs(given.error);
  const resolved = resolveInputs(project.spec.buildDefinition, given.value);
  if (!resolved.ok) throw refuseInputs(resolved.error);
  return resolved.value;
}

/** With each problem by itself, so that a form can show it beside its field. */
const refuseInputs = (errors: readonly string[]) =>
  refuse("project/run/params-deserialize", errors.join("; "), { errors });

/**
 * A crash in the middle leaves a build without a worker, which the controller of builds asks for. So does an answer that does not come: a worker may
 * have been started, and who asks again is told which.
 */
async function trigger(build: Stored<Build>, { repository, start, clock, log }: ApiParts): Promise<void> {
  const { buildId = 0 } = build.spec;
  // Shorter than the controller waits before it asks for the worker of a build that somebody else starts.
  const patience = AbortSignal.timeout(12_000);
  const noteUnknown = async (message: string) =>
    void (await repository.updateStatus(buildId, (now) => perhapsTriggered(now, message, clock.now())));
  try {
    const workerId = await startWorker(build, start, patience, () => noteUnknown(notAnswered));
    await repository.updateStatus(buildId, (now) => triggered(now, workerId, clock.now()));
  } catch (thrown) {
    const message = messageOf(thrown);
    if (isUnknown(thrown)) {
      log.warn("a build waits for a worker that may not be there", { build: buildId, error: message });
      return await noteUnknown(message);
    }
    if (!isRefused(thrown)) return log.warn("a build waits for its engine", { build: buildId, error: message });
    const reason = isUnstartable(thrown) ? "Unstartable" : "TriggerFailed";
    const stored = await repository.updateStatus(buildId, (now) =>
      untriggered(withoutNote(now), reason, message, clock.now()),
    );
    if (wordOf(stored) === "Running") return;
    throw refuse("project/run/trigger", `build ${buildId} could not be started: ${message}`, { cause: thrown });
  }
}
