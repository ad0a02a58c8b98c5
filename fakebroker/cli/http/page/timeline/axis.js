// The timeline's axis. Things are placed by monotonic time, because the time of day jumps when a test moves it; where a test
// moved the timers, too, monotonic time jumps with them, and the axis leaves that gap out. Its labels are times of day.

const STEPS_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 15000, 30000, 60000, 120000, 300000, 600000, 900000,
  1800000, 3600000, 7200000, 14400000, 43200000, 86400000, 604800000,
];
const TICK_PX = 110; // room for a label

export class Axis {
  // `lines` is the journal, oldest first.
  constructor(lines) {
    this.lines = lines;
    this.jumps = []; // {mono_ms after it, by_ms, all_ms: sum with those before}
    let all_ms = 0;
    lines.forEach((line, at) => {
      if (line.kind !== "clock_moved" || line.how !== "advanced with timers") return;
      const by_ms = line.to_ms - line.from_ms;
      const before_ms = at > 0 ? lines[at - 1].mono_ms : line.mono_ms - by_ms;
      const after_ms = line.mono_ms - before_ms >= by_ms ? line.mono_ms : line.mono_ms + by_ms;
      all_ms += by_ms;
      this.jumps.push({ mono_ms: after_ms, by_ms, all_ms });
    });
  }

  // The place on the axis of a monotonic time.
  place(mono_ms) {
    let shift_ms = 0;
    for (const jump of this.jumps) {
      if (mono_ms < jump.mono_ms) return Math.min(mono_ms - shift_ms, jump.mono_ms - jump.all_ms);
      shift_ms = jump.all_ms;
    }
    return mono_ms - shift_ms;
  }

  // The monotonic time of a place.
  mono(place) {
    let shift_ms = 0;
    for (const jump of this.jumps) {
      if (place < jump.mono_ms - jump.all_ms) return place + shift_ms;
      shift_ms = jump.all_ms;
    }
    return place + shift_ms;
  }

  // The time of day at a place, from the last line before it.
  wallAt(place) {
    const { lines } = this;
    if (!lines.length) return null;
    let low = 0;
    let high = lines.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.place(lines[middle].mono_ms) <= place) low = middle;
      else high = middle - 1;
    }
    const at = this.place(lines[low].mono_ms);
    return this.baseMs(low, at) + (place - at);
  }

  // The time of day when all that happened at the place of this line was over. What fell due inside of a jump stands at
  // the jump's place and carries its own moment; after it the time of day is what the clock was moved to.
  baseMs(index, at) {
    const { lines } = this;
    for (let each = index; each >= 0 && this.place(lines[each].mono_ms) === at; each -= 1) {
      if (lines[each].kind === "clock_moved") return lines[each].to_ms;
    }
    return lines[index].wall_ms;
  }

  // Where ticks stand in a range that is drawn on so many pixels: [place, time of day], and the step between them.
  ticks(from, to, width_px) {
    const wanted_ms = (to - from) / Math.max(1, width_px / TICK_PX);
    const step_ms = STEPS_MS.find((each) => each >= wanted_ms) ?? STEPS_MS.at(-1);
    const offset = (this.wallAt(from) ?? from) - from;
    const ticks = [];
    for (let place = Math.ceil((from + offset) / step_ms) * step_ms - offset; place <= to; place += step_ms) {
      const unit_ms = Math.min(step_ms, 1000); // both times are whole ms, so that the label may be off by one
      ticks.push([place, Math.round((this.wallAt(place) ?? place) / unit_ms) * unit_ms]);
      if (ticks.length > 200) break;
    }
    return { ticks, step_ms };
  }
}
