export { createUi, type UiOptions } from "./ui.ts";
