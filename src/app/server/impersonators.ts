import { type ApiClient, createHttpClient, type HttpClientConfig } from "#kernel/kit/index.ts";
import type { Writer } from "#kernel/model/index.ts";

/** Clients of users beyond this number are closed, the oldest first. */
const maxUsers = 256;

export interface Impersonators {
  readonly clientAs: (user: Writer) => ApiClient;
  readonly close: () => Promise<void>;
}

/** Clients that impersonate users over a connection that may do so, one for each user. */
export function impersonators(config: HttpClientConfig): Impersonators {
  const clients = new Map<string, ApiClient>();
  return {
    clientAs({ user, groups }) {
      const key = JSON.stringify([user, groups]);
      const known = clients.get(key);
      if (known !== undefined) return known;
      const client = createHttpClient({
        ...config,
        connection: { ...config.connection, impersonate: { user, groups } },
      });
      clients.set(key, client);
      const [oldest] = clients;
      if (clients.size > maxUsers && oldest !== undefined) {
        clients.delete(oldest[0]);
        void oldest[1].close();
      }
      return client;
    },
    close: async () => void (await Promise.all([...clients.values()].map((client) => client.close()))),
  };
}
