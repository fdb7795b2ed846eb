import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Writable } from "node:stream";
import { root } from "#test/support/slipway.ts";

// Kubernetes' own client for JavaScript, installed apart (scripts/client-node.mjs), and what the suite uses of it.

export interface ClientNode {
  readonly KubeConfig: new () => KubeConfig;
  readonly CoreV1Api: object;
  readonly CustomObjectsApi: object;
  readonly KubernetesObjectApi: { makeApiClient(config: KubeConfig): ObjectApi };
  readonly Watch: new (config: KubeConfig) => WatchClient;
  readonly Log: new (
    config: KubeConfig,
  ) => {
    log(
      namespace: string,
      pod: string,
      container: string,
      stream: Writable,
      options?: object,
    ): Promise<AbortController>;
  };
  readonly PatchStrategy: Readonly<Record<"ServerSideApply" | "MergePatch", string>>;
  makeInformer(config: KubeConfig, path: string, list: () => Promise<unknown>, selector?: string): Informer;
}

export interface KubeConfig {
  loadFromFile(path: string): void;
  loadFromOptions(options: object): void;
  makeApiClient(api: object): Record<string, (options: object) => Promise<Listed>>;
}

/** An object of any kind. */
export interface Item {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: { readonly name: string; readonly resourceVersion?: string; readonly [name: string]: unknown };
  readonly data?: Readonly<Record<string, string>>;
  readonly [name: string]: unknown;
}

export interface Listed extends Item {
  readonly items: readonly Item[];
}

export interface ObjectApi {
  create(object: object): Promise<Item>;
  read(object: object): Promise<Item>;
  list(apiVersion: string, kind: string, namespace?: string): Promise<Listed>;
  patch(
    object: object,
    pretty?: string,
    dryRun?: string,
    fieldManager?: string,
    force?: boolean,
    strategy?: string,
  ): Promise<Item>;
  delete(object: object): Promise<unknown>;
}

export interface WatchClient {
  watch(
    path: string,
    query: object,
    event: (type: string, object: Item & { readonly code?: number }) => void,
    done: (error: unknown) => void,
  ): Promise<AbortController>;
}

export interface Informer {
  on(event: "add" | "update" | "delete", listener: (object: Item) => void): void;
  on(event: "error" | "connect", listener: (error: unknown) => void): void;
  start(): Promise<void>;
  stop(): Promise<void>;
  list(namespace?: string): readonly Item[];
}

/** Takes seconds: every class of every kind is loaded. */
export async function loadClientNode(): Promise<ClientNode> {
  const home = join(root, "node_modules/.cache/test-tools/client-node");
  const entry = join(home, "node_modules/@kubernetes/client-node/dist/index.js");
  if (!existsSync(entry)) throw new Error("@kubernetes/client-node is missing; run: node scripts/test-tools.mjs");
  return (await import(/* @vite-ignore */ pathToFileURL(entry).href)) as ClientNode;
}
