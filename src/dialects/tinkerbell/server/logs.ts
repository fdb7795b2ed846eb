import type { Manager } from "#kernel/kit/index.ts";
import { isNotFound } from "#kernel/model/index.ts";
import { type AnyWorkflow, refOf, stateOf } from "../stored.ts";
import type { LogParts } from "./log-service.ts";
import { LogShelf } from "./log-shelf.ts";
import { LogUpkeep } from "./log-upkeep.ts";
import { parseWorkflowId } from "./workflow-id.ts";
import type { WorkflowMirror } from "./workflow-mirror.ts";

const usualBytes = 1024 ** 3;

export function addLogs(
  { client, clock, log }: Manager,
  mirror: WorkflowMirror,
  { directory, maxBytes = usualBytes }: { readonly directory: string; readonly maxBytes?: number },
): { readonly parts: Omit<LogParts, "identify">; readonly upkeep: LogUpkeep; readonly close: () => Promise<void> } {
  const shelf = new LogShelf({ directory, clock, maxBytes });
  const upkeep = new LogUpkeep({ clock, log, directory, shelf, mirror });
  const find: LogParts["find"] = async (id) => {
    const place = parseWorkflowId(id);
    if (place === undefined) return undefined;
    const mirrored = mirror.get(place);
    if (mirrored !== undefined && mirrored.state.actions.length > 0) return mirrored;
    try {
      const workflow = await client.get<AnyWorkflow>(refOf(place.namespace, place.name));
      const { uid } = workflow.metadata;
      return place.uid === undefined || place.uid === uid ? { uid, state: stateOf(workflow) } : undefined;
    } catch (thrown) {
      if (isNotFound(thrown)) return undefined;
      throw thrown;
    }
  };
  // Excess is removed later, not during the caller's request.
  const onGrown = (): void => upkeep.grown();
  const close = async (): Promise<void> => {
    await upkeep.close();
    await shelf.close();
  };
  return { parts: { clock, shelf, find, onGrown }, upkeep, close };
}
