import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { lazySignal } from "./exchange.ts";

const responseThat = (destroyed = false) => Object.assign(new EventEmitter(), { destroyed });
const signalOf = (response: EventEmitter, closing: AbortSignal) =>
  lazySignal(response as unknown as ServerResponse, closing);

describe("the signal of an exchange", () => {
  test("is made when it is asked for, and once", () => {
    const response = responseThat();
    const signal = signalOf(response, new AbortController().signal);
    expect(response.listenerCount("close")).toBe(0);
    expect(signal()).toBe(signal());
    expect(response.listenerCount("close")).toBe(1);
  });

  test("aborts when the client goes away", () => {
    const response = responseThat();
    const signal = signalOf(response, new AbortController().signal)();
    expect(signal.aborted).toBe(false);
    response.emit("close");
    expect(signal.aborted).toBe(true);
  });

  test("aborts when the server closes", () => {
    const closing = new AbortController();
    const signal = signalOf(responseThat(), closing.signal)();
    closing.abort();
    expect(signal.aborted).toBe(true);
  });

  test("has aborted already when the client went before anybody asked", () => {
    expect(signalOf(responseThat(true), new AbortController().signal)().aborted).toBe(true);
  });

  test("has aborted already when the server closed before anybody asked", () => {
    expect(signalOf(responseThat(), AbortSignal.abort())().aborted).toBe(true);
  });
});
