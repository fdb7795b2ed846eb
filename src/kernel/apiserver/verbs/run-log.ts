import type { GroupKind } from "#engine/index.ts";
import type { LogRequest } from "#kernel/logs/index.ts";
import { badRequest, type KubeObject, unknownResource } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { ApiContext } from "./context.ts";

/** Where logs are kept of objects that are no Pods, and whose. */
export interface LogSource {
  /** Kinds with the subresource `log`. */
  readonly kinds: readonly GroupKind[];
  /** The parameter of a query that says which log of an object is meant, in the words of its language; `container` says it, too. */
  readonly parameter: string;
  /**
   * One log as bytes of whole or partial lines; `part` is empty for the only one. Refusals (`ApiError`) come from the call, before the
   * first chunk; a follower ends when nothing more is expected, or the signal aborts.
   */
  open(object: KubeObject, part: string, request: LogRequest): Promise<AsyncIterable<Uint8Array>>;
}

const sourceOf = ({ logSources = [] }: ApiContext, { type }: ServedResource): LogSource | undefined =>
  logSources.find(({ kinds }) => kinds.some(({ group, kind }) => group === type.group && kind === type.kind));

/** Whether objects of this kind have the subresource without being Pods. */
export const hasLogs = (context: ApiContext, resource: ServedResource): boolean =>
  sourceOf(context, resource) !== undefined;

/** `parameter` looks up what the query says. Refused for kinds without logs, and for two names of one log. */
export async function openRunLog(
  context: ApiContext,
  resource: ServedResource,
  object: KubeObject,
  parameter: (name: string) => string,
  request: LogRequest,
): Promise<AsyncIterable<Uint8Array>> {
  const source = sourceOf(context, resource);
  if (source === undefined) throw unknownResource();
  const [own, general] = [parameter(source.parameter), parameter("container")];
  if (own !== "" && general !== "" && own !== general)
    throw badRequest(`at most one of ${source.parameter} and container may be set`);
  return await source.open(object, own === "" ? general : own, request);
}
