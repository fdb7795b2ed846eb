import type { LogRequest } from "#kernel/streams/index.ts";
import { badRequest, type KubeObject, unknownResource } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { ApiContext } from "./context.ts";
import type { LogSource } from "./sources.ts";

const sourceOf = ({ logSources = [] }: ApiContext, { type }: ServedResource): LogSource | undefined =>
  logSources.find(({ kinds }) => kinds.some(({ group, kind }) => group === type.group && kind === type.kind));

/** Whether logs of the kind, which may be Pods, can be read by numbers of lines. */
export const numbersLines = (context: ApiContext, resource: ServedResource): boolean =>
  (sourceOf(context, resource) ?? context.podLogs).numbersLines === true;

export const hasLogs = (context: ApiContext, resource: ServedResource): boolean =>
  sourceOf(context, resource) !== undefined;

/** `parameter` reads the query. Refuses kinds without logs and contradicting parameters. */
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
