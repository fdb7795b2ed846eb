import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { StepView } from "#engine/index.ts";
import type { RunChange, RunDetail, StreamLine } from "#app/ui/wire.ts";
import { requestJson } from "./api.ts";
import { inFrame } from "./frame.ts";
import { type RunKey, runPath } from "./refs.ts";
import type { Load } from "./runs.ts";
import { noteSignedOut, stream } from "./server.ts";
import type { StreamHandle } from "./stream.ts";

export type RunHead = Omit<RunDetail, "view" | "graph"> & { readonly view: RunChange["view"] };

/** One run, live: its head, and a signal for each step, so that a change of one step draws that step only. */
export class RunModel {
  readonly key: RunKey;
  readonly head = signal<RunHead | undefined>(undefined);
  readonly graph = signal<RunDetail["graph"]>({ name: "", nodes: [], edges: [] });
  readonly order = signal<readonly string[]>([]);
  readonly #steps = new Map<string, Signal<StepView>>();
  /** Counts changes of steps, for what is drawn of all of them. */
  readonly #version = signal(0);
  readonly #all = computed<readonly StepView[]>(() => {
    void this.#version.value;
    return this.order.value.flatMap((id) => this.#steps.get(id)?.peek() ?? []);
  });
  readonly load = signal<Load>({ is: "loading" });
  readonly isDeleted = signal(false);
  readonly #abort = new AbortController();
  #handle: StreamHandle | undefined;

  constructor(key: RunKey) {
    this.key = key;
  }

  step(id: string): ReadonlySignal<StepView> | undefined {
    return this.#steps.get(id);
  }

  /** All steps in order, the same list until one changes; who reads them is drawn again with every change. */
  steps(): readonly StepView[] {
    return this.#all.value;
  }

  async open(): Promise<void> {
    try {
      const detail = await requestJson<RunDetail>("GET", runPath(this.key), { signal: this.#abort.signal });
      batch(() => this.#replace(detail));
      if (this.#handle !== undefined) return this.#handle.resume(detail.resourceVersion);
      const { dialect, namespace, name } = this.key;
      const wanted = { what: "run", params: { dialect, namespace, name }, resourceVersion: detail.resourceVersion } as const;
      this.#handle = stream.subscribe(wanted, (line) => inFrame(() => this.#take(line)));
    } catch (thrown) {
      if (this.#abort.signal.aborted) return;
      noteSignedOut(thrown);
      if (this.load.peek().is !== "ready") this.load.value = { is: "failed", thrown };
    }
  }

  close(): void {
    this.#abort.abort();
    this.#handle?.close();
  }

  #replace({ view, graph, ...rest }: RunDetail): void {
    const { steps, ...head } = view;
    this.head.value = { ...rest, view: head };
    this.#putSteps(steps);
    this.#setOrder(steps.map(({ id }) => id));
    if (JSON.stringify(graph.edges) !== JSON.stringify(this.graph.peek().edges) || this.graph.peek().name === "")
      this.graph.value = graph;
    this.load.value = { is: "ready" };
    this.isDeleted.value = false;
  }

  #change(change: RunChange): void {
    const { steps, order, graph, view, ...rest } = change;
    const before = this.head.peek();
    if (before === undefined) return;
    this.head.value = { ...before, ...rest, view };
    this.#putSteps(steps);
    if (order !== undefined) this.#setOrder(order);
    if (graph !== undefined) this.graph.value = graph;
  }

  #putSteps(steps: readonly StepView[]): void {
    for (const step of steps) {
      const known = this.#steps.get(step.id);
      if (known === undefined) this.#steps.set(step.id, signal(step));
      else if (JSON.stringify(known.peek()) !== JSON.stringify(step)) known.value = step;
    }
    if (steps.length > 0) this.#version.value += 1;
  }

  #setOrder(order: readonly string[]): void {
    if (order.join("\n") === this.order.peek().join("\n")) return;
    const present = new Set(order);
    for (const id of this.#steps.keys()) if (!present.has(id)) this.#steps.delete(id);
    this.order.value = order;
  }

  #take({ type, object }: StreamLine): void {
    switch (type) {
      case "ADDED":
      case "MODIFIED": {
        const change = object as RunChange | RunDetail;
        if ("steps" in change.view) this.#replace(change as RunDetail);
        else this.#change(change as RunChange);
        return;
      }
      case "DELETED":
        this.isDeleted.value = true;
        return;
      case "GONE":
        void this.open();
        return;
      case "END":
      case "ERROR":
      case "BOOKMARK":
      case "HELLO":
    }
  }
}
