import type { KubeObject } from "#kernel/model/index.ts";
import type { Component } from "../app.ts";

/** An object of an application, complete with names and labels. */
export interface RenderedObject {
  /** Key in the ConfigMap of rendered resources: `web`, `web.scaler.hpa`, `policy.my-rule`. */
  readonly key: string;
  readonly role: "WORKLOAD" | "TRAIT" | "POLICY";
  /** Absent for policies. */
  readonly component?: string;
  /** Type of the trait; `AuxiliaryWorkload` for further objects of a component. */
  readonly trait?: string;
  /** Name in `outputs`. */
  readonly resource?: string;
  /** Of the trait's definition; absent: with the workload. */
  readonly stage?: "PreDispatch" | "PostDispatch";
  /** Applied to the control plane even when the component is placed elsewhere. */
  readonly controlPlaneOnly?: boolean;
  readonly object: KubeObject;
}

export interface RenderedComponent {
  readonly component: Component;
  readonly workload: RenderedObject;
  readonly auxiliaries: readonly RenderedObject[];
}

export interface ComponentHealth {
  readonly isHealthy: boolean;
  /** Without traits. */
  readonly isWorkloadHealthy: boolean;
  readonly message: string;
  readonly details: Readonly<Record<string, string>>;
  readonly traits: readonly {
    readonly type: string;
    readonly healthy: boolean;
    readonly pending?: boolean;
    readonly message?: string;
    readonly details?: Readonly<Record<string, string>>;
  }[];
}
