-- Leases: what is held, and for a while what it came to.
local GRANTED_MS, DISPATCHED_MS, CHARGES_KEPT_MS, MONEY_KEPT_MS, ABOUT_MS = 15000, 60000, 120000, 600000, 500
local TIDIED = 64
local EXPIRES, UNSENT = POOL .. ':expires', POOL .. ':unsent'
local leases = {}                      -- read in this run, by id; false: not there

local function lease(id)
  if leases[id] == nil then
    local packed = call('GET', POOL .. ':lease:' .. id)
    leases[id] = packed and cmsgpack.unpack(packed) or false
  end
  local l = leases[id]
  if not l or (l.ended and now >= l.forget) then return nil end
  return l
end
local function keep(l)
  leases[l.id], changed[l.id] = l, l
end

-- What calls hold or came to, by when they were sent: as in gateway/stores/memory/sums.py.
local PARTS, CHUNK = 32, 1024
local pending = {}                     -- what this run adds, by key and field
local function sums(name, size) return POOL .. ':c:' .. name .. ':' .. size end
local function add_to(key, field, more)
  local fields = pending[key] or {}
  pending[key] = fields
  fields[field] = (fields[field] or 0) + more
end
local function add_at(name, at, more)
  local chunk = math.floor(at / CHUNK)
  local key = sums(name, chunk)
  add_to(key, at, more)
  add_to(key, 'p' .. math.floor(at / PARTS), more)
  add_to(key, 'all', more)
end
local function write_sums()
  for key, fields in pairs(pending) do
    for field, more in pairs(fields) do
      if more ~= 0 and call('HINCRBY', key, field, more) == more and field == 'all' then call('PEXPIRE', key, 2 * CHARGES_KEPT_MS) end
    end
  end
  pending = {}
end
local function count(l, name, more)
  local w = load(name)
  if more == 0 or (w and (w.untold or w.kind == 'never' or w.kind == 'gauge')) then return end
  if l.sent then
    if l.sent > now - CHARGES_KEPT_MS then add_at(name, l.sent, more) end
  elseif not l.ended then put('HINCRBY', UNSENT, name, string.format('%.0f', more)) end
end
local function within(name, after, upto)  -- what was added in (after, upto]
  write_sums()
  local first, last, total, wanted, chunks = after + 1, upto + 1, 0, {}, {}
  local function want(chunk, field)
    if not wanted[chunk] then wanted[chunk] = {}; chunks[#chunks + 1] = chunk end
    local fields = wanted[chunk]
    fields[#fields + 1] = field
  end
  for _, size in ipairs({1, PARTS}) do
    local mark, per = size == 1 and '' or 'p', CHUNK / size
    while first < last and first % PARTS ~= 0 do
      want(math.floor(first / per), mark .. first)
      first = first + 1
    end
    while first < last and last % PARTS ~= 0 do
      last = last - 1
      want(math.floor(last / per), mark .. last)
    end
    if first == last then break end
    first, last = first / PARTS, last / PARTS
  end
  if first < last then for chunk = first, last - 1 do want(chunk, 'all') end end
  for _, chunk in ipairs(chunks) do
    for _, amount in ipairs(call('HMGET', sums(name, chunk), unpack(wanted[chunk]))) do
      if amount then total = total + tonumber(amount) end
    end
  end
  return total
end

local function discount(l)             -- it is not one that is still to be sent any more
  for name, amount in pairs(l.amounts) do count(l, name, -tonumber(amount)) end
end

local function send(l)
  l.sent = now
  for name, amount in pairs(l.amounts) do count(l, name, tonumber(amount)) end
  put('ZADD', EXPIRES, now + DISPATCHED_MS, l.id)
  keep(l)
end

local function grant(asks, tag, dispatched)
  local entry = {}
  for i, ask in ipairs(asks) do entry[i] = ask[1] end
  for i, ask in ipairs(asks) do
    local l = {id = ask[1], amounts = ask[2], entry = i == 1 and entry or {}, tag = tag, granted = now}
    for name, need in pairs(ask[2]) do
      local w = load(name)
      take(w, need)
      l.money = l.money or w.kind == 'never'
    end
    if dispatched then send(l) else
      for name, amount in pairs(l.amounts) do count(l, name, tonumber(amount)) end
      put('ZADD', EXPIRES, now + GRANTED_MS, l.id)
      keep(l)
    end
  end
end

-- End a lease with these charges, or correct by them what it came to.
local function charge(l, charges)
  local money = false
  for name, new in pairs(charges) do
    local w, old = load(name), l.amounts[name]
    count(l, name, tonumber(new) - tonumber(old or 0))
    if w then
      money = money or w.kind == 'never'
      if l.ended or not old then correct(w, old or '0', new, l.granted) else finish(w, old, new, l.granted) end
    end
    l.amounts[name] = new
  end
  if not l.ended then
    if not l.sent then discount(l) end
    l.ended, l.forget = true, now + (money and MONEY_KEPT_MS or CHARGES_KEPT_MS)
    call('ZREM', EXPIRES, l.id)
  end
  keep(l)
end
local function stranger(id)            -- the store was lost between: there is nothing but what is charged now
  return {id = id, amounts = {}, entry = {}, tag = 0, granted = now, ended = true, forget = now + MONEY_KEPT_MS}
end
local function free(l)
  local nothing = {}
  for name in pairs(l.amounts) do nothing[name] = '0' end
  charge(l, nothing)
  l.sent = nil                         -- asked for again it is granted anew
  keep(l)
end

local function keep_row(l, row)
  l.row = row
  keep(l)
  call('ZADD', POOL .. ':rows', now, l.id)
  call('HSET', POOL .. ':row', l.id, row)
  call('PEXPIRE', POOL .. ':rows', MONEY_TTL)
  call('PEXPIRE', POOL .. ':row', MONEY_TTL)
end

-- The holder is lost. What was never sent comes back; what was sent may have been used, and stays charged.
local function lapse(l)
  if not l.sent then
    put('HINCRBY', POOL .. ':pool', 'ungrabbed', 1)
    return free(l)
  end
  put('HINCRBY', POOL .. ':pool', 'orphans', 1)
  local names, money = {}, {}
  for name in pairs(l.amounts) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local w = load(name)
    if w and w.kind == 'never' then money[#money + 1] = name .. '=' .. l.amounts[name] end
  end
  charge(l, l.amounts)
  if #money > 0 then keep_row(l, 'orphan:' .. table.concat(money, ',')) end
end

local function read_into(reading)      -- a reading that tells the limit makes a window where there is none or a guess
  local there = load(reading.name)
  if reading.kind == 'never' or (there and there.kind == 'never') then return nil end
  if there and not there.provisional then return there end
  if not reading.limit or reading.limit <= 0 then return there end
  local w = made(reading.name, reading.kind, reading.limit, reading.limit)
  if there then w.held = there.held; w.level = w.level - there.held end
  w.period, w.cold = reading.period, true
  if w.kind == 'bucket' and w.period > 0 then w.rate = w.cap / w.period end
  if w.kind == 'fixed' then w.ends = now + w.period end
  put('SADD', POOL .. ':names', w.name)
  return w
end

-- Of a call that was refused nothing is learned of others.
local function read_all(l, readings, refused)
  local sent_at = l.sent or l.granted
  for _, reading in ipairs(readings) do
    local w = read_into(reading)
    if w then
      local since = now - CHARGES_KEPT_MS
      local function charged(after, upto) return within(w.name, math.max(after, since), upto) end
      local about = 0
      if reading.exact or reading.bounded then
        about = charged(sent_at - ABOUT_MS, sent_at) - (reading.exact and tonumber(l.amounts[w.name] or 0) or 0)
      end
      read(w, {remaining = reading.remaining, limit = reading.limit, reset = reading.reset, sent_at = sent_at,
               ended = l.ended and not refused,
               exact = reading.exact, bounded = reading.bounded, between = charged(w.read_at, sent_at), about = about,
               later = charged(sent_at, now) + tonumber(call('HGET', UNSENT, w.name) or 0)})
    end
  end
end
