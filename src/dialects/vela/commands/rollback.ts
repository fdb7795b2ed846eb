import { type Clock, err, ok, type Result } from "#lib/base/index.ts";
import { type ApiClient, getOrUndefined } from "#kernel/kit/index.ts";
import { Application } from "../kinds.ts";
import { annotation } from "../labels.ts";
import { rollbackSource } from "../revision/history.ts";
import { decodeSnapshot } from "../revision/snapshot.ts";
import { listRevisions } from "../revision/store.ts";

export interface RollbackRequest {
  readonly namespace: string;
  readonly name: string;
  readonly revision: string | undefined;
}

/** Writes the spec and publishVersion of an earlier revision, with the rights of the caller. Its name, or why not. */
export async function rollBack(
  client: ApiClient,
  { namespace, name, revision: wanted }: RollbackRequest,
  clock: Clock,
  signal: AbortSignal,
): Promise<Result<string, string>> {
  const application = await getOrUndefined<Application>(client, { type: Application, namespace, name }, signal);
  if (application === undefined) return err(`there is no application "${name}" in namespace ${namespace}`);
  const { status, workflow } = application.status ?? {};
  if (workflow?.startTime !== undefined && workflow.finished !== true)
    return err(`its workflow is ${status ?? "running"}; terminate it first: slipway terminate app/${name}`);
  const revisions = await listRevisions({ client, clock, signal }, application);
  const current = application.status?.latestRevision?.name ?? "";
  const found =
    wanted === undefined
      ? rollbackSource(revisions, current)
      : revisions.find(({ metadata }) => metadata.name === wanted);
  if (found === undefined)
    return err(wanted === undefined ? "no other revision has succeeded" : `there is no revision "${wanted}"`);
  const { application: former } = decodeSnapshot(found);
  const publishVersion = found.metadata.annotations?.[annotation.publishVersion];
  const { [annotation.publishVersion]: _before, ...others } = application.metadata.annotations ?? {};
  const annotations =
    publishVersion === undefined ? others : { ...others, [annotation.publishVersion]: publishVersion };
  // The record of what was stored as an application.
  const spec = former["spec"] as Application["spec"];
  await client.update<Application>(
    Application,
    { ...application, metadata: { ...application.metadata, annotations }, spec },
    { signal },
  );
  return ok(found.metadata.name);
}
