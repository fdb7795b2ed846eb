import type { ApiClient } from "#kernel/kit/index.ts";
import { CoreEvent, type KubeObject } from "#kernel/model/index.ts";
import type { StepJob } from "../step-runtime.ts";

export interface PodEventsOptions {
  readonly client: Pick<ApiClient, "list" | "watch">;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly log: StepJob["log"];
}

type EventObject = KubeObject & {
  readonly involvedObject?: { readonly uid?: string };
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
};

/** Writes the events of a Pod to the step's log, once each. Unreadable or lost events fail no step. */
export class PodEvents {
  readonly #options: PodEventsOptions;
  readonly #told = new Set<string>();
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: PodEventsOptions) {
    this.#options = options;
    this.#running = this.#watch().catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
    const { client } = this.#options;
    const rest = await client.list(CoreEvent, this.#scope()).catch(() => undefined);
    for (const event of rest?.items ?? []) this.#tell(event);
  }

  #scope() {
    const { namespace, name } = this.#options;
    return { namespace, fieldSelector: `involvedObject.kind=Pod,involvedObject.name=${name}` };
  }

  async #watch(): Promise<void> {
    const { signal } = this.#closing;
    for await (const { type, object } of this.#options.client.watch(CoreEvent, { ...this.#scope(), signal }))
      if (type === "ADDED") this.#tell(object);
  }

  /** Repeated events only increase a count. */
  #tell(object: KubeObject): void {
    const { metadata, involvedObject, type, reason = "", message = "" } = object as EventObject;
    const id = metadata.uid ?? metadata.name ?? "";
    if (involvedObject?.uid !== this.#options.uid || this.#told.has(id)) return;
    this.#told.add(id);
    const kind = type === "Warning" ? "Warning " : "";
    const text = `${kind}${reason}: ${message}`.replaceAll(/\s*\n\s*/g, " ").trim();
    this.#options.log.append("slipway", Buffer.from(`[slipway] ${text}\n`));
  }
}
