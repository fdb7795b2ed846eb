import { rounds } from "./rounds.ts";

/** What part of the cases of costly properties is tried; see CONTRIBUTING.md. */
const share = Number(process.env["SLIPWAY_PROPERTY_SHARE"] ?? rounds(0.25, 10));

/**
 * How many cases a property is tried with that takes long with `full` of them. Chance picks others every time, so a share
 * leaves out none for good; more than 1 looks harder than the tests do.
 */
export const runs = (full: number): number => Math.ceil(full * share);
