import type { ObjectRef } from "#engine/index.ts";
import { eventsOf, type ObjectEvent } from "../data/objects.ts";
import { useAnswer } from "./answer.ts";
import { Failure, Loading } from "./states.tsx";
import { TableHead } from "./table.tsx";
import { Time } from "./time.tsx";

const columns = [{ id: "When" }, { id: "Reason" }, { id: "Message" }];

/** The events about an object, the newest first; `named` is how the page calls it. */
export function EventsOf({ object, named }: { readonly object: ObjectRef; readonly named: string }) {
  const [answer, again] = useAnswer<readonly ObjectEvent[]>((signal) => eventsOf(object, signal));
  if (answer.is === "loading") return <Loading what="events" />;
  if (answer.is === "failed") return <Failure thrown={answer.thrown} onRetry={again} />;
  if (answer.value.length === 0)
    return <p class="muted">No events about {named}. The server keeps them for an hour.</p>;
  return (
    <table class="table events">
      <TableHead columns={columns} />
      <tbody>
        {answer.value.map((event, index) => (
          <tr key={index}>
            <td>
              <Time at={Number.isNaN(event.at) ? undefined : event.at} />
            </td>
            <td>
              {event.type === "Warning" && <span class="tag">Warning</span>} {event.reason}
              {event.count > 1 && <span class="muted number"> ×{event.count}</span>}
            </td>
            <td class="wrap">{event.message}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
