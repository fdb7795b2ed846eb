import type { JsonObject, Result } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import type { KubeObject, Stored } from "#kernel/model/index.ts";
import type { App, Component } from "../app.ts";
import type { ComponentHealth, RenderedComponent, RenderedObject } from "../render/rendered.ts";

/** `local` is the control plane itself. Absent namespace: the application's. */
export interface Placement {
  readonly cluster: string;
  readonly namespace?: string;
}

export interface KnownCluster {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface Clusters {
  /** With the application's rights on `local`, else with the cluster's. Error: `failed to get cluster x`. */
  client(cluster: string, signal?: AbortSignal): Promise<Result<ApiClient, string>>;
  list(signal?: AbortSignal): Promise<readonly KnownCluster[]>;
}

export interface RenderOptions {
  readonly cluster?: string;
  readonly namespace?: string;
  /** Merged into what is rendered: objects by `patch` of the action, as CUE would unify them. */
  readonly patch?: { readonly workload?: JsonObject; readonly traits?: Readonly<Record<string, JsonObject>> };
}

/** Renders, applies, tracks and observes the objects of one application, for one pass. Refusals are for people. */
export interface Delivery {
  readonly app: App;
  render(component: Component, options?: RenderOptions): Promise<Result<RenderedComponent, string>>;
  /** Server-side apply in order; each object is in the tracker before it exists. */
  apply(
    objects: readonly RenderedObject[],
    placement: Placement,
    creator: "policy" | "workflow",
  ): Promise<Result<readonly Stored[], string>>;
  /** Any object of a step, labelled and tracked like a rendered one. */
  applyObject(object: KubeObject, placement: Placement): Promise<Result<Stored, string>>;
  /** Deletes an object that this application applied; absent objects are ignored. */
  remove(object: KubeObject, placement: Placement): Promise<Result<undefined, string>>;
  /** Of the live objects. */
  health(rendered: RenderedComponent, placement: Placement): Promise<ComponentHealth>;
  /** Patches of `#Export {type: "patch"}`, merged into all later renderings of the run. */
  patchComponent(component: string, patch: JsonObject): void;
}
