import { formatAge, type Instant, isJsonObject, parseInstant, oneLine } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { Event, type KubeObject, type Stored } from "#kernel/model/index.ts";
import { formatTable } from "#kernel/command/index.node.ts";

/**
 * The events of one object, oldest first; selected by uid, so those of an earlier object of the same name are left out.
 */
export async function eventsOf(client: ApiClient, { metadata }: Stored): Promise<readonly KubeObject[]> {
  const scope = metadata.namespace === undefined ? {} : { namespace: metadata.namespace };
  const { items } = await client.list(Event, { ...scope, fieldSelector: `regarding.uid=${metadata.uid}` });
  return [...items].sort((a, b) => timeOf(a) - timeOf(b));
}

/** The fields of `events.k8s.io/v1`. `series` exists from the second occurrence on. */
interface EventFields {
  readonly type?: string;
  readonly reason?: string;
  readonly note?: string;
  readonly eventTime?: string | null;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string };
}

const fieldsOf = (event: KubeObject): EventFields => (isJsonObject(event) ? (event as EventFields) : {});

/** When it was last seen; 0 if no time can be read, which sorts it first. */
function timeOf(event: KubeObject): Instant {
  const { eventTime, series } = fieldsOf(event);
  return parseInstant(series?.lastObservedTime ?? eventTime ?? event.metadata.creationTimestamp ?? "") ?? 0;
}

/** A table of events with ages before `now`; `(x3)` marks an event that occurred three times. */
export function formatEvents(events: readonly KubeObject[], now: Instant): string {
  if (events.length === 0) return "Events:     none\n";
  const rows = events.map((event) => {
    const { type = "", reason = "", note = "", series } = fieldsOf(event);
    const times = series?.count === undefined || series.count < 2 ? "" : ` (x${series.count})`;
    return [formatAge(now - timeOf(event)), type, reason, `${oneLine(note)}${times}`];
  });
  return `Events:\n${formatTable(["AGE", "TYPE", "REASON", "MESSAGE"], rows)}`;
}
