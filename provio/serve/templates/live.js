/* Keeps the shown view up to date while runs are in progress: follows their events, and asks again after some.
 *
 * A hidden page does not follow: a browser opens only a few connections to one server. */
import { by, current, failed, moment } from "./base.js";
import { updateFile, updateRun } from "./graph.js";
import { updateRuns } from "./runs.js";
import { sums } from "./run.js";

const UPDATES = { runs: updateRuns, run: updateRun, file: updateFile, sums: (id) => sums(id, true) };
const PAUSE = 1000; // milliseconds between an event and the next answer, at least
let source = null, timer = 0, took = 0, last = "";

const shown = () => {
  const [view, value] = (location.hash.slice(1) || "runs").split("=");
  return [view, value === undefined ? "" : decodeURIComponent(value)];
};

async function update() {
  timer = 0;
  const [view, value] = shown(), mine = current.walk, started = performance.now();
  if (!UPDATES[view] || "busy" in document.body.dataset) return;
  try {
    await UPDATES[view](value);
  } catch (error) {
    if (mine === current.walk) failed(error);
  }
  took = performance.now() - started;
}

function changed(event) {
  last = event.lastEventId;
  const { time, run } = JSON.parse(event.data), [view, value] = shown();
  by("live").textContent = `last event ${moment(time)}`;
  by("live").hidden = false;
  const concerns = view === "run" || view === "sums" ? run.startsWith(value) : true;
  if (concerns && !timer) timer = setTimeout(update, Math.max(PAUSE, 3 * took));
}

function follow() {
  if (document.hidden || source) return;
  source = new EventSource(`/api/v1/events${last ? `?after=${last}` : ""}`);
  source.addEventListener("message", changed);
  source.addEventListener("error", () => { if (source && source.readyState === EventSource.CLOSED) source = null; });
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) return follow();
  if (source) source.close();
  source = null;
});
follow();
