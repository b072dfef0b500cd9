"use strict";
(() => {
  const places = document.querySelectorAll("section.file, #codes tbody tr, #files tbody tr, #unread tbody tr, #timeline tbody tr");
  const texts = new Map();
  const text = (place) => {
    if (!texts.has(place)) {
      const titles = Array.from(place.querySelectorAll("[title]"), (item) => item.getAttribute("title"));
      texts.set(place, [place.textContent, ...titles].join(" ").toLowerCase());
    }
    return texts.get(place);
  };
  const bar = document.createElement("form");
  bar.className = "find";
  bar.setAttribute("role", "search");
  const field = document.createElement("input");
  field.type = "search";
  field.placeholder = "Find a file, a code, an offset";
  field.setAttribute("aria-label", "Find in this report");
  const only = document.createElement("input");
  only.type = "checkbox";
  const label = document.createElement("label");
  label.append(only, " damaged only");
  const told = document.createElement("output");
  bar.append(field, label, told);
  document.querySelector("nav").after(bar);
  const isDamaged = (place) => !place.closest("#files") || place.classList.contains("bad");
  const filter = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const place of places) {
      const fits = (!only.checked || isDamaged(place)) && (!words.length || words.every((word) => text(place).includes(word)));
      place.hidden = !fits;
      shown += fits;
    }
    for (const group of document.querySelectorAll("#codes details")) {
      group.hidden = !group.querySelector("tbody tr:not([hidden])");
      if (words.length && !group.hidden) group.open = true;
    }
    told.textContent = words.length || only.checked ? `${shown} of ${places.length}` : "";
  };
  let waiting = 0;
  field.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 120); });
  only.addEventListener("change", filter);
  bar.addEventListener("submit", (event) => { event.preventDefault(); filter(); });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== field) { event.preventDefault(); field.focus(); }
  });
  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const holder = target && target.closest("details");
    if (holder) { holder.open = true; target.scrollIntoView(); }
    if (target && target.closest("[hidden]")) { field.value = ""; only.checked = false; filter(); target.scrollIntoView(); }
  };
  addEventListener("hashchange", open);
  open();
})();
