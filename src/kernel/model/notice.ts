/** What an Event says, without the object that it is about. */
export interface Notice {
  readonly type: "Normal" | "Warning";
  /** CamelCase and stable, for scripts and alerts: `StepSucceeded`. */
  readonly reason: string;
  /** What the controller did or tried: `Reconcile`, `Start`. */
  readonly action: string;
  /** One line for people that starts in lower case; cut to 1024 bytes. */
  readonly note: string;
}

export const normal = (reason: string, note: string, action = "Reconcile"): Notice => ({
  type: "Normal",
  reason,
  action,
  note,
});

export const warning = (reason: string, note: string, action = "Reconcile"): Notice => ({
  ...normal(reason, note, action),
  type: "Warning",
});
