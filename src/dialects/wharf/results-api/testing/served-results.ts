import { openHttpDoor } from "../../http/index.ts";
import { createRestApi } from "../../http/rest-api.ts";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { logService } from "../log-service.ts";
import { join } from "node:path";
import { openArtifactStore } from "../../artifact-store/artifact-store.ts";
import { addResultRoutes } from "../../api/app.ts";
import type { Api, KnownBuilds, ResultsApiParts, ResultStores } from "../parts.ts";
import { inDirectory, withStore } from "../../log-store/testing/log-lines.ts";

export class SomeBuilds implements KnownBuilds {
  readonly known = new Set([1, 2]);
  readonly told: string[] = [];
  readonly #over = new Map<number, (() => void)[]>();
  readonly #ended = new Set<number>();

  has = (buildId: number): boolean => this.known.has(buildId);
  takes = (buildId: number): boolean => this.known.has(buildId);
  isOver = (buildId: number): boolean => this.#ended.has(buildId);
  onOver = (buildId: number, run: () => void): (() => void) => {
    this.#over.set(buildId, [...(this.#over.get(buildId) ?? []), run]);
    return () =>
      this.#over.set(
        buildId,
        (this.#over.get(buildId) ?? []).filter((other) => other !== run),
      );
  };
  tellStatus = (buildId: number, word: string): Promise<void> => {
    this.told.push(`${buildId} ${word}`);
    return Promise.resolve();
  };

  end(buildId: number): void {
    this.#ended.add(buildId);
    for (const run of this.#over.get(buildId) ?? []) run();
  }

  waiting(buildId: number): number {
    return this.#over.get(buildId)?.length ?? 0;
  }
}

export interface ServedResults extends ResultsApiParts, ResultStores {
  readonly builds: SomeBuilds;
  readonly directory: string;
  readonly address: string;
  readonly url: string;
}

export const withResultsApi = (
  work: (served: ServedResults) => Promise<void>,
  extend: (api: Api) => void = () => undefined,
): Promise<void> =>
  inDirectory((directory) =>
    withStore(join(directory, "logs"), async (logs) => {
      const builds = new SomeBuilds();
      const artifacts = await openArtifactStore({ directory: join(directory, "artifacts"), clock: systemClock });
      const stores = { logs, artifacts };
      const open = (): Promise<ResultStores> => Promise.resolve(stores);
      const parts = { stores: { open }, builds, clock: systemClock, log: silentLog };
      const door = await openHttpDoor({
        address: "127.0.0.1:0",
        clock: systemClock,
        log: silentLog,
        drain: 50,
        serves: async () => {
          const api = createRestApi({ log: silentLog });
          extend(api);
          addResultRoutes(api, parts);
          return { fetch: api.fetch, services: [logService(parts)] };
        },
      });
      try {
        await work({ ...parts, ...stores, directory, address: door.address, url: `http://${door.address}/api/build` });
      } finally {
        await door.close();
      }
    }),
  );

export interface SentEvent {
  readonly event: string;
  readonly id: number;
  readonly data: Readonly<Record<string, unknown>>;
}

export async function* eventsOf(response: Response): AsyncGenerator<SentEvent, void> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    const parts = text.split("\n\n");
    text = parts.pop() ?? "";
    for (const part of parts) {
      if (part.startsWith(":")) continue;
      const field = (name: string): string => part.match(new RegExp(`^${name}: (.*)$`, "m"))?.[1] ?? "";
      yield { event: field("event"), id: Number(field("id")), data: JSON.parse(field("data")) as SentEvent["data"] };
    }
  }
}
