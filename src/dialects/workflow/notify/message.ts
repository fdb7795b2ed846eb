import type { Workflow } from "../kinds.ts";
import { idPart } from "./owed.ts";
import type { Notification, OwedNotification } from "./schema.ts";

/** What is posted: a body, and the headers that say what it is. */
export interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * A notification as it is posted. The same one always has the same id, `<uid>/<run number>/<event>` and the step where it is about one:
 * whoever gets it twice can tell. `cloudevents` is the structured mode of CloudEvents 1.0 over HTTP (one JSON object with everything in it,
 * so that what stands between need not keep headers); `text` is one line, with the id in a header. A few hundred bytes.
 */
export function messageOf(workflow: Workflow, { format }: Notification, owed: OwedNotification): Message {
  const { name = "", namespace = "", uid = "" } = workflow.metadata;
  const { event, step, runNumber, time, message } = owed;
  const id = `${uid}/${idPart(owed)}`;
  const headers = { "user-agent": "slipway", "slipway-event-id": id };
  if (format === "text") {
    const what = [`Workflow ${namespace}/${name}: ${event}`, step, message].filter((text) => text !== undefined);
    const body = `${what.join(": ").replaceAll(/\s+/g, " ")}\n`;
    return { headers: { ...headers, "content-type": "text/plain; charset=utf-8" }, body };
  }
  // Absent members are left out: null would be a value.
  const about = { ...(step === undefined ? {} : { step }), ...(message === undefined ? {} : { message }) };
  // Names of attributes are lower case in CloudEvents; its own are those of version 1.0, and there are no extensions.
  const cloudEvent = {
    specversion: "1.0",
    id,
    source: `/apis/slipway.dev/v1alpha1/namespaces/${namespace}/workflows/${name}`,
    type: `dev.slipway.workflow.${event}`,
    ...(step === undefined ? {} : { subject: step }),
    time,
    datacontenttype: "application/json",
    data: { event, workflow: { name, namespace, uid }, runNumber, ...about },
  };
  const type = "application/cloudevents+json; charset=utf-8";
  return { headers: { ...headers, "content-type": type }, body: JSON.stringify(cloudEvent) };
}
