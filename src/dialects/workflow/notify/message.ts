import type { Workflow } from "../kinds.ts";
import { idPart } from "./owed.ts";
import type { Notification, OwedNotification } from "./schema.ts";

export interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * The request of a notification, of a few hundred bytes. Its id is always `<uid>/<run number>/<event>`, plus the step
 * if any, so that receivers can detect repetitions. `cloudevents` is the structured mode of CloudEvents 1.0 over HTTP;
 * `text` is one line with the id in a header.
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
  // Omitted, because null is a value.
  const about = { ...(step === undefined ? {} : { step }), ...(message === undefined ? {} : { message }) };
  // Attributes of version 1.0 only, in lower case.
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
